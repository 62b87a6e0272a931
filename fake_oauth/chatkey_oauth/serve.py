"""The listening socket and its server."""

from __future__ import annotations

import socket
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, cast

import uvicorn

from chatkey_oauth.app import create_app
from chatkey_oauth.line import LINE, Line
from chatkey_oauth.settings import Settings, SettingsError
from chatkey_serving.cuttable import Cuttable
from chatkey_serving.server import Server

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

CUTTABLE: Final = cast("type[asyncio.Protocol]", partial(Cuttable, LINE, Line))
"""A protocol class for uvicorn. Each of its connections puts its `Line` into the ASGI scope."""


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
        self.server(settings, ready).run(sockets=[self._socket])

    @contextmanager
    def serving(self, settings: Settings) -> Iterator[None]:
        """Serve in a thread until the block ends. The block begins when the server accepts requests."""
        ready = Future[None]()
        server = self.server(settings, lambda: ready.set_result(None))
        with ThreadPoolExecutor(1, "fake-oauth") as threads:
            ended = threads.submit(server.run, sockets=[self._socket])
            wait([ready, ended], return_when=FIRST_COMPLETED)
            try:
                if ready.done():
                    yield
            finally:
                server.should_exit = True
                ended.result()

    def server(self, settings: Settings, ready: Callable[[], None]) -> Server:
        context = settings.tls
        config = uvicorn.Config(
            create_app(settings),
            ssl_certfile=settings.tls_cert or None,
            ssl_keyfile=settings.tls_key or None,
            ssl_context_factory=(lambda *_: context) if context else None,
            http=CUTTABLE if settings.lab else "httptools",
            ws="none",
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=3,
        )
        return Server(config, ready)
