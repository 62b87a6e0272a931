"""The listening socket and the server around it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from chatkey_oauth.app import create_app
from chatkey_oauth.line import LINE, Line
from chatkey_oauth.settings import Settings, SettingsError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


class Listening:
    """A bound socket, taken first so that a port in use is told before anything else happens."""

    def __init__(self, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            advice = "Stop what listens there, or give another port with --port."
            raise SettingsError(f"Cannot listen at {host} port {port}: {error.strerror}. {advice}") from error
        self.port: int = self._socket.getsockname()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._socket.close()

    def serve(self, settings: Settings, *, ready: Callable[[], None]) -> None:
        """Serve until told to stop; call `ready` when requests are answered."""
        config = uvicorn.Config(
            create_app(settings),
            ssl_certfile=settings.tls_cert or None,
            ssl_keyfile=settings.tls_key or None,
            http=Cuttable if settings.lab else HttpToolsProtocol,
            ws="none",
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=3,
        )
        Server(config, ready).run(sockets=[self._socket])


class Cuttable(HttpToolsProtocol):
    """A connection that an application can cut, for which ASGI has no word."""

    def on_message_begin(self) -> None:
        """Put the connection, by which an answer can be cut, into the request's scope."""
        super().on_message_begin()
        self._line = Line(self.transport)
        self.scope["extensions"] = {LINE: self._line}  # type: ignore[dict-item]

    def shutdown(self) -> None:
        """Let nobody's hanging answer keep the server from its end."""
        super().shutdown()
        if self._line.held:
            self._line.reset()


class Server(uvicorn.Server):
    """A server that says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and call `ready` once the server listens."""
        await super().startup(sockets)
        if self.started:
            self._ready()
