"""The listening socket and its server."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from chatkey_oauth.app import create_app
from chatkey_oauth.connection import Connection
from chatkey_oauth.settings import Settings, SettingsError
from chatkey_serving.few_lines import PER_SECOND, FewLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

BACKLOG: Final = 2048

HANDSHAKE_SECONDS: Final = 20.0
"""The time limit of a TLS handshake. The default of asyncio is a minute."""

IDLE_SECONDS: Final = 75.0
"""The time after which a connection without requests is closed."""

SWEEP_SECONDS: Final = 5.0
"""The time between two searches for idle connections."""

LEAVE_SECONDS: Final = 3.0
"""The time that responses have to finish when the server stops."""

ENDINGS: Final = (signal.SIGINT, signal.SIGTERM)

log = logging.getLogger(__name__)


class Server:
    """Serves a fake. Calls `ready` when it accepts requests."""

    def __init__(self, settings: Settings, ready: Callable[[], None]) -> None:
        self.app = create_app(settings)
        self._context = tls_context(settings)
        self._ready = ready
        self._connections: set[Connection] = set()
        self._few = FewLines(
            PER_SECOND, lambda kind, count: log.warning("… %s more lines like this: %s", f"{count:,}", kind)
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()

    def run(self, listening: socket.socket) -> None:
        """Serve until `stop` is called, or until SIGINT or SIGTERM arrives in the main thread.

        After the end, the signal is raised again for the handler that was installed before.
        """
        with stopped_by_signals(self.stop), asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(self._serve(listening))

    def stop(self) -> None:
        """Stop the server. May be called from any thread and from signal handlers."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self, listening: socket.socket) -> None:
        loop = self._loop = asyncio.get_running_loop()
        timeout = None if self._context is None else HANDSHAKE_SECONDS
        server = await loop.create_server(
            lambda: Connection(self.app, self._connections, self._few),
            sock=listening,
            ssl=self._context,
            ssl_handshake_timeout=timeout,
            backlog=BACKLOG,
        )
        sweep = asyncio.create_task(self._close_idle())
        self._ready()
        await self._stopped.wait()
        sweep.cancel()
        server.close()
        await self._leave()

    async def _leave(self) -> None:
        """Close all connections. Connections that are still at work are broken after `LEAVE_SECONDS`."""
        for connection in tuple(self._connections):
            connection.close()
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                while self._connections:  # noqa: ASYNC110 - a connection reports its end to nobody
                    await asyncio.sleep(0.01)
        except TimeoutError:
            for connection in tuple(self._connections):
                connection.abort()

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = asyncio.get_running_loop().time()
            for connection in tuple(self._connections):
                if connection.is_idle(now, IDLE_SECONDS):
                    connection.abort()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return the constructor of uvloop's event loop, which is faster, or of asyncio's if uvloop is not installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    if settings.tls is not None or not settings.tls_cert:
        return settings.tls
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(settings.tls_cert, settings.tls_key)
    return context


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` when SIGINT or SIGTERM arrives during the block. After the block, raise the signal again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, _: object) -> None:
        arrived.append(number)
        stop()

    before = {ending: signal.signal(ending, note) for ending in ENDINGS}
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
    for number in dict.fromkeys(arrived):
        signal.raise_signal(number)


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
        Server(settings, ready).run(self._socket)

    @contextmanager
    def serving(self, settings: Settings) -> Iterator[Server]:
        """Serve in a thread until the block ends. The block begins when the server accepts requests."""
        ready = Future[None]()
        server = Server(settings, lambda: ready.set_result(None))
        with ThreadPoolExecutor(1, "fake-oauth") as threads:
            ended = threads.submit(server.run, self._socket)
            wait([ready, ended], return_when=FIRST_COMPLETED)
            try:
                if ready.done():
                    yield server
            finally:
                server.stop()
                ended.result()
