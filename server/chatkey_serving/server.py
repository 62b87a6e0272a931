"""A server of one process, from the listening sockets to the end of the last connection."""

from __future__ import annotations

import asyncio
import signal
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from chatkey_serving.http import HttpConnection
from chatkey_serving.lifespan import started

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable
    from types import FrameType

    from chatkey_serving.site import Site

HANDSHAKE_SECONDS: Final = 20.0
"""Default time limit of a TLS handshake, in seconds. asyncio allows a minute."""
BACKLOG: Final = 2048
RESERVE: Final = 64
"""How many file descriptors are not for connections."""


async def _nothing() -> None: ...


class Server:
    """Serves `site`, and calls `ready`, `told` and `leaving` at three points in the server's life.

    `ready` is called when the server listens, `told` when the server must shut down, and `leaving` when the server
    accepts no more connections. The server continues until `told` has returned, and breaks no connection before
    `leaving` has returned. After that, requests in progress have `grace` seconds.
    """

    def __init__(
        self,
        site: Site,
        ready: Callable[[], None],
        leaving: Callable[[], Awaitable[None]] = _nothing,
        told: Callable[[], Awaitable[None]] = _nothing,
        *,
        tls: ssl.SSLContext | None = None,
        grace: float = 3.0,
        handshake_seconds: float = HANDSHAKE_SECONDS,
    ) -> None:
        self.site = site
        self._ready = ready
        self._leaving = leaving
        self._told = told
        self._tls = tls
        self._grace = grace
        self._handshake_seconds = handshake_seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()

    def run(self, sockets: list[socket.socket]) -> None:
        """Serve in a new event loop until the server is stopped, or until SIGTERM or Ctrl-C."""
        with asyncio.Runner(loop_factory=_new_loop) as runner:
            runner.run(self.serve(sockets))

    async def serve(self, sockets: list[socket.socket]) -> None:
        """Serve until the server is stopped. Afterwards, raise the signal that stopped the server once more."""
        self._loop = asyncio.get_running_loop()
        with self._stopped_by_signals():
            async with started(self.site):
                await self._serve(sockets)

    def stop(self) -> None:
        """Tell the server to shut down. This may be called in any thread."""
        if self._loop is None:
            self._stopping.set()
        else:
            self._loop.call_soon_threadsafe(self._stopping.set)

    async def _serve(self, sockets: list[socket.socket]) -> None:
        listen = partial(
            asyncio.get_running_loop().create_server,
            partial(HttpConnection, self.site),
            backlog=BACKLOG,
            ssl=self._tls,
            ssl_handshake_timeout=self._handshake_seconds if self._tls else None,
        )
        self.site.most_connections = _most_connections()
        listeners = [await listen(sock=each) for each in sockets]
        self._ready()
        await self._stopping.wait()
        await self._told()
        for listener in listeners:
            listener.close()
        await self._leaving()
        await self.site.empty(self._grace)

    @contextmanager
    def _stopped_by_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        caught: list[int] = []

        def catch(number: int, frame: FrameType | None) -> None:
            if number in caught:  # somebody is impatient
                signal.default_int_handler(number, frame)
            caught.append(number)
            self.stop()

        before = {number: signal.signal(number, catch) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        for caught_number in reversed(caught):
            signal.raise_signal(caught_number)


def server_context(certificate: str, key: str) -> ssl.SSLContext:
    """Return the TLS context of a server. Both parameters are paths of PEM files."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


def _most_connections() -> int:
    """Return how many connections leave enough file descriptors for databases and files. 0 means no limit."""
    try:
        import resource  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return 0
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 0 if limit == resource.RLIM_INFINITY else limit - min(RESERVE, limit // 2)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
