"""Web Locks: one holder per browser and name. Where the browser has none, everyone holds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import js
from pyodide.ffi import create_proxy

from chatkey_widget.browser.js_values import member, to_object


class WebLocks:
    """The browser's lock manager."""

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """Wait for the lock and hold it while the context lasts."""
        manager = member(js.navigator, "locks")
        if not manager:
            yield
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        released = asyncio.Event()

        async def holding(_lock: object) -> None:
            if not granted.done():
                granted.set_result(None)
                await released.wait()

        async def requested() -> None:
            await manager.request(name, to_object({"signal": controller.signal}), proxy)

        controller = js.AbortController.new()
        proxy = create_proxy(holding)
        request = asyncio.get_running_loop().create_task(requested())
        try:
            await asyncio.wait({request, granted}, return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            released.set()
            controller.abort()  # takes back a request that is still waiting
            request.add_done_callback(lambda done: (done.cancelled() or done.exception(), proxy.destroy()))
