"""uvicorn's server, which says when it is ready, and ends without waiting for those who only keep a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from chatkey_serving.few_lines import limit_uvicorn

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable


async def _nothing() -> None:
    """Have nothing to do before the end."""


class Server(uvicorn.Server):
    """Calls `ready` once it listens, `told` when it is to end and serves on until that is done, and then `leaving`.

    By then it takes no more connections, and has cut none yet.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        leaving: Callable[[], Awaitable[None]] = _nothing,
        told: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        super().__init__(config)
        limit_uvicorn()
        self._ready = ready
        self._leaving = leaving
        self._told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open what the app needs, listen, and say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, and let requests under way finish."""
        await self._told()
        for server in self.servers:
            server.close()
        await self._leaving()
        self._cut_idle_connections()
        await super().shutdown(sockets)

    def _cut_idle_connections(self) -> None:
        """Over TLS browsers leave the close of a connection they keep for later unanswered, and stopping would wait."""
        for connection in tuple(self.server_state.connections):
            if isinstance(connection, HttpToolsProtocol) and (
                connection.cycle is None or connection.cycle.response_complete
            ):
                connection.transport.abort()
