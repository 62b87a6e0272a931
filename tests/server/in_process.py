"""An HTTP client and a WebSocket for an app that runs in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, cast

import httpx
from tests import profile

from chatkey_protocol.names import SOCKET_PATH
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from litestar import Litestar

    from chatkey_server.services import Services

    OpenSocket = Callable[..., Awaitable["ServerSocket"]]
    MakeClient = Callable[..., AbstractAsyncContextManager["ServerClient"]]


class ServerClient(httpx.AsyncClient):
    """An HTTP client for an app in this process. Tests can also use the app and its services."""

    def __init__(self, app: Litestar, transport: httpx.ASGITransport) -> None:
        super().__init__(transport=transport, base_url="http://localhost:8800", event_hooks={"response": [_check]})
        self.app = app
        self.services: Services = app.state.services


class ServerSocket:
    def __init__(self, app: Litestar, path: str, headers: Mapping[str, str], subprotocols: Sequence[str]) -> None:
        self._to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        path, _, query = path.partition("?")
        scope = {
            "type": "websocket",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "scheme": "ws",
            "server": ("localhost", 8800),
            "client": ("127.0.0.1", 50_000),
            "root_path": "",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "subprotocols": list(subprotocols),
            "state": {},
            "extensions": {},
        }
        self._to_app.put_nowait({"type": "websocket.connect"})
        self.running = asyncio.create_task(cast("Any", app)(scope, self._to_app.get, self._take))
        self.subprotocol: str | None = None
        self._is_a_widgets = path == SOCKET_PATH

    async def accepted(self) -> ServerSocket:
        """Wait until the app has accepted the socket. The app may still refuse the peer afterwards."""
        event = await self._event()
        assert event["type"] == "websocket.accept"
        self.subprotocol = event["subprotocol"]
        return self

    async def send(self, frame: Mapping[str, object] | str | bytes) -> None:
        """Send a frame. An object is sent as JSON; text and bytes are sent unchanged."""
        content = {"bytes": frame} if isinstance(frame, bytes) else {"text": _text(frame)}
        self._to_app.put_nowait({"type": "websocket.receive", **content})

    async def next(self) -> dict[str, Any]:
        """Return the next frame. After the close, return `{"type": "closed", "code", "reason"}`."""
        event = await self._event()
        if event["type"] == "websocket.close":
            return {"type": "closed", "code": event["code"], "reason": event["reason"]}
        frame = json.loads(event["text"])
        assert isinstance(frame, dict)
        if self._is_a_widgets:
            profile.said_by_the_server(frame)
        return frame

    async def ask(self, frame: Mapping[str, object]) -> dict[str, Any]:
        """Send a frame, and return the next frame that the app sends."""
        await self.send(frame)
        return await self.next()

    async def leave(self, code: int = 1001) -> None:
        """Disconnect, and wait until the app has handled the disconnection."""
        self._to_app.put_nowait({"type": "websocket.disconnect", "code": code})
        await asyncio.wait_for(self.running, PATIENCE)

    async def _take(self, event: dict[str, Any]) -> None:
        self._from_app.put_nowait(event)
        if event["type"] == "websocket.close":
            self._to_app.put_nowait({"type": "websocket.disconnect", "code": event["code"]})

    async def _event(self) -> dict[str, Any]:
        return await asyncio.wait_for(self._from_app.get(), PATIENCE)


async def _check(answer: httpx.Response) -> None:
    await answer.aread()
    profile.answered(answer.url.path, answer.status_code, answer.headers.get("content-type", ""), answer.content)


def _text(frame: Mapping[str, object] | str) -> str:
    return frame if isinstance(frame, str) else json.dumps(frame)
