"""The WebSocket endpoint: accepts first, so that close codes reach the browser, and judges afterwards (D-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import WebSocket, websocket
from litestar.handlers import WebsocketRouteHandler

from chatkey_protocol.codes import Close, Code
from chatkey_protocol.names import SOCKET_PATH, SUBPROTOCOL
from chatkey_server.identity.errors import Refused
from chatkey_server.socket.customer_socket import CustomerSocket

if TYPE_CHECKING:
    from chatkey_server.services import Services


def handler(services: Services) -> WebsocketRouteHandler:
    """Return the route of the socket."""

    @websocket(SOCKET_PATH)
    async def socket_endpoint(socket: WebSocket[Any, Any, Any]) -> None:
        offered = socket.scope.get("subprotocols", ())
        await socket.accept(subprotocols=SUBPROTOCOL if SUBPROTOCOL in offered else None)
        await CustomerSocket(socket, services).run()

    return socket_endpoint


async def close_all(services: Services, close: Close = Close.RESTART) -> None:
    """Close every socket of this process, telling why, before the server itself stops."""
    code = Code.RESTARTING if close is Close.RESTART else Code.UNAVAILABLE
    await services.sockets.close_all(Refused(code, "The server stops or restarts; connect again in a moment."))
