"""The WebSocket endpoint. It accepts a socket before any check, so that browsers receive close codes (D-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litestar.enums import ScopeType

from chatkey_protocol.codes import Close, Code
from chatkey_protocol.names import SOCKET_PATH, SUBPROTOCOL
from chatkey_server.identity.errors import Refused
from chatkey_server.peers.wire import Wire
from chatkey_server.socket.customer_socket import CustomerSocket

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Scope, Send

    from chatkey_server.services import Services


class SocketEndpoint:
    """An ASGI application that serves the widgets' sockets, and passes all other requests on.

    The application runs before the router, because the router would make opening a socket a tenth slower.
    """

    def __init__(self, services: Services, app: ASGIApp) -> None:
        self._services = services
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.WEBSOCKET or scope["path"] != SOCKET_PATH:
            await self._app(scope, receive, send)
            return
        wire = Wire(scope, receive, send)
        await wire.accept(SUBPROTOCOL if SUBPROTOCOL in scope["subprotocols"] else None)
        await CustomerSocket(wire, self._services).run()


async def close_all(services: Services, close: Close = Close.RESTART, *, over: float = 0.0) -> None:
    """Close every socket of this process with a reason, within `over` seconds, before the server stops."""
    code = Code.RESTARTING if close is Close.RESTART else Code.UNAVAILABLE
    await services.sockets.close_all(
        Refused(code, "The server is stopping or restarting; connect again in a moment."), over=over
    )
