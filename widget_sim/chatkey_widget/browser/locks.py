"""Holds Web Locks. In one browser, a lock has only one holder. Without Web Locks, every caller gets the lock."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import js
from pyodide.ffi import create_proxy

from chatkey_widget.browser.js_values import member, to_object


class WebLocks:
    def __init__(self) -> None:
        self._claims: set[asyncio.Task[None]] = set()

    async def claim(self, name: str) -> bool:
        """Take the lock and hold it until the page ends. Returns False if another page has the lock."""
        manager = member(js.navigator, "locks")
        if not manager:
            return True
        loop = asyncio.get_running_loop()
        claimed: asyncio.Future[bool] = loop.create_future()

        async def holding(lock: object) -> None:
            claimed.set_result(bool(lock))
            if lock:
                await loop.create_future()

        async def requested() -> None:
            await manager.request(name, to_object({"ifAvailable": True}), proxy)

        proxy = create_proxy(holding)
        request = loop.create_task(requested())
        self._claims.add(request)
        request.add_done_callback(lambda _: proxy.destroy())
        either: tuple[asyncio.Future[Any], ...] = (request, claimed)
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return not claimed.done() or claimed.result()  # a browser that refuses locks has no tabs to tell apart

    @asynccontextmanager
    async def hold(self, name: str, patience: float | None = None) -> AsyncIterator[None]:
        """Wait for the lock, and hold it until the block ends.

        After `patience` seconds, the lock is taken from its current holder.
        """
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

        async def requested(options: Mapping[str, Any]) -> None:
            await manager.request(name, to_object(options), proxy)

        controller = js.AbortController.new()
        proxy = create_proxy(holding)
        loop = asyncio.get_running_loop()
        requests = [loop.create_task(requested({"signal": controller.signal}))]
        try:
            done, _ = await asyncio.wait({*requests, granted}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                controller.abort()
                requests.append(loop.create_task(requested({"steal": True})))
                await asyncio.wait({requests[-1], granted}, return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            released.set()
            controller.abort()  # withdraw a request that is still waiting
            asyncio.gather(*requests, return_exceptions=True).add_done_callback(lambda _: proxy.destroy())
