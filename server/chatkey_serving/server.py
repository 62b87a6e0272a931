"""uvicorn's server, which reports when it is ready, and shuts down without waiting for idle connections."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from chatkey_serving import read
from chatkey_serving.few_lines import limit_uvicorn

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable


HANDSHAKE_SECONDS: Final = 20.0
"""Default time limit of a TLS handshake, in seconds. asyncio allows a minute."""


async def _nothing() -> None: ...


class Server(uvicorn.Server):
    """Calls `ready`, `told` and `leaving` at three points in the server's life.

    `ready` is called when the server listens, `told` when the server must shut down, and `leaving` when the server
    accepts no more connections. The server continues until `told` has returned, and breaks no connection before
    `leaving` has returned.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        leaving: Callable[[], Awaitable[None]] = _nothing,
        told: Callable[[], Awaitable[None]] = _nothing,
        handshake_seconds: float = HANDSHAKE_SECONDS,
    ) -> None:
        super().__init__(config)
        limit_uvicorn()
        read.check()
        self._handshake_seconds = handshake_seconds
        self._ready = ready
        self._leaving = leaving
        self._told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the app, listen, and call `ready`."""
        if self.config.is_ssl:  # uvicorn has no setting for the handshake timeout
            loop = asyncio.get_running_loop()
            timed = partial(loop.create_server, ssl_handshake_timeout=self._handshake_seconds)
            loop.create_server = timed  # type: ignore[method-assign]
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, and let current requests finish."""
        await self._told()
        for server in self.servers:
            server.close()
        await self._leaving()
        self._cut_idle_connections()
        await super().shutdown(sockets)

    def _cut_idle_connections(self) -> None:
        """Break idle connections. Over TLS, browsers do not answer a close, and shutdown would wait for an answer."""
        for connection in tuple(self.server_state.connections):
            if isinstance(connection, HttpToolsProtocol) and (
                connection.cycle is None or connection.cycle.response_complete
            ):
                connection.transport.abort()
