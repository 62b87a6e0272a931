"""The listening socket and its server."""

from __future__ import annotations

import socket
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from chatkey_oauth.app import MOST_BYTES, create_app
from chatkey_oauth.settings import Settings, SettingsError
from chatkey_serving.few_lines import write_few_lines
from chatkey_serving.server import Server, server_context
from chatkey_serving.site import Limits, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self


IDLE_SECONDS: Final = 75.0
"""How long a connection without requests stays open. Clients keep theirs between the logins of a test."""


class Listening:
    """A bound socket. It is bound before all other steps of the start, so that a port in use is reported first."""

    def __init__(self, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            advice = "Stop the program that listens there, or choose another port with --port."
            raise SettingsError(f"Cannot listen on {host} port {port}: {error.strerror}. {advice}") from error
        self.port: int = self._socket.getsockname()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._socket.close()

    def serve(self, settings: Settings, *, ready: Callable[[], None]) -> None:
        """Serve until the server is told to stop. Call `ready` when the server accepts requests."""
        write_few_lines()
        _server(settings, ready).run([self._socket])

    @contextmanager
    def serving(self, settings: Settings) -> Iterator[Server]:
        """Serve in a thread until the block ends. The block begins when the server accepts requests."""
        ready = Future[None]()
        server = _server(settings, lambda: ready.set_result(None))
        with ThreadPoolExecutor(1, "fake-oauth") as threads:
            ended = threads.submit(server.run, [self._socket])
            wait([ready, ended], return_when=FIRST_COMPLETED)
            try:
                if ready.done():
                    yield server
            finally:
                server.stop()
                ended.result()


def _server(settings: Settings, ready: Callable[[], None]) -> Server:
    tls = settings.tls or (server_context(settings.tls_cert, settings.tls_key) if settings.tls_cert else None)
    app = create_app(settings)
    limits = Limits(body_bytes=MOST_BYTES, idle_timeout=IDLE_SECONDS)
    return Server(Site(app=app, answers=app.respond, limits=limits, has_lifespan=False), ready, tls=tls)
