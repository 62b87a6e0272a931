"""What all connections of a server share: the application, the limits, and the connections that are open."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import nsmallest
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from chatkey_protocol.codes import Close
from chatkey_serving.dates import http_date

if TYPE_CHECKING:
    from chatkey_protocol.codes import Code
    from chatkey_serving.request import Headers, Request

Message = MutableMapping[str, Any]
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application. Frameworks declare the types of its parameters differently."""
Answers = Callable[["Asked"], "Reply | Coroutine[Any, Any, Reply]"]
Address = tuple[str, int]

CONNECTION: Final = "chatkey.connection"
"""The ASGI extension with which an application reaches the `Connection` of its request."""

SAY: Final = "chatkey.say"
"""The ASGI extension of a socket that sends a text message at once, or returns False if this is not possible."""

LOG: Final = logging.getLogger("chatkey.serving")
REQUESTS: Final = logging.getLogger("chatkey.requests")


def reset(transport: asyncio.Transport) -> None:
    """Break a connection at once, with RST instead of FIN."""
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def connection_of(scope: Mapping[str, Any]) -> Connection:
    """Return the connection of a request or a socket. Raises `ConnectionAbortedError` under another server."""
    connection: Connection | None = (scope.get("extensions") or {}).get(CONNECTION)
    if connection is None:
        raise ConnectionAbortedError("This server gives an application no access to its connections.")
    return connection


class Connection(Protocol):
    """A connection as the application sees it."""

    transport: asyncio.Transport

    @property
    def waits_until(self) -> float | None:
        """When the connection ends unless its client completes a request, or None if it does not wait for one."""
        ...

    def shut_down(self) -> None:
        """Close the connection as soon as the current response is complete."""
        ...

    def cut(self) -> None:
        """Break the connection at once."""
        ...


class Asked(Protocol):
    """A whole request. Its ASGI scope is made when it is asked for."""

    @property
    def request(self) -> Request: ...
    @property
    def body(self) -> bytes | bytearray: ...
    @property
    def scope(self) -> Scope: ...


class Reply(Protocol):
    """A whole response, and what goes wrong with it on purpose.

    `delay` is in seconds; if it is None, the response is never sent. `cut` breaks the connection before the response or
    in the middle of its body.
    """

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def body(self) -> bytes: ...
    @property
    def delay(self) -> float | None: ...
    @property
    def cut(self) -> Literal["", "before", "midway"]: ...


class Door(Protocol):
    """Counts the open connections of each client address. A WebSocket counts as the connection that it came from."""

    def admit(self, address: str, /) -> bool:
        """Count one more connection. Returns False if this address has too many connections."""
        ...

    def hold(self, address: str, more: int, /) -> bool:
        """Count bytes of unfinished requests and messages. Returns False if this address has sent too many of them."""
        ...

    def release(self, address: str, /) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits in bytes, in seconds, and per second. If `pong_timeout` is 0, sockets get no pings."""

    head_bytes: int = 64 * 1024
    body_bytes: int = 64 * 1024 * 1024
    request_timeout: float = 60.0
    idle_timeout: float = 5.0
    frame_bytes: int = 64 * 1024 * 1024
    frame_timeout: float = 60.0
    frames_per_second: int = 0
    pong_timeout: float = 0.0


def _close_code(_: Code) -> int:
    return Close.RATE_LIMITED


@dataclass(kw_only=True)
class Site:
    """`door` counts connections, and `refused` returns the close code for a socket that exceeds a limit.

    If there is `answers`, it answers requests in place of `app`. Otherwise `limits.body_bytes` protects the connection
    only, and the application itself must refuse a body that is too large.

    `most_connections` keeps file descriptors free for other purposes; 0 means no limit. If there are more connections,
    those that have waited longest for a request are broken.
    """

    app: App
    answers: Answers | None = None
    limits: Limits = field(default_factory=Limits)
    door: Door | None = None
    refused: Callable[[Code], int] = _close_code
    has_lifespan: bool = True
    has_sockets: bool = False
    has_date: bool = True
    logs_requests: bool = False
    most_connections: int = 0
    state: dict[str, Any] = field(default_factory=dict, init=False)
    connections: set[Connection] = field(default_factory=set, init=False)
    tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _emptied: asyncio.Event | None = field(default=None, init=False)
    _date: tuple[int, Headers] = field(default=(0, []), init=False)

    def headers(self) -> Headers:
        """Return the headers of every response."""
        now = int(time.time())
        if self.has_date and self._date[0] != now:
            self._date = (now, [(b"date", http_date(now))])
        return self._date[1]

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the application for a request or a socket."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._end)

    def admit(self, client: Address | None) -> bool:
        """Count a connection of this client. Returns False if the client has too many."""
        return self.door is None or client is None or self.door.admit(client[0])

    def hold(self, client: Address | None, more: int) -> bool:
        """Count what a client has sent of an unfinished request or message. Returns False if it is too much."""
        return self.door is None or client is None or self.door.hold(client[0], more)

    def release(self, client: Address | None) -> None:
        """Count a connection less."""
        if self.door is not None and client is not None:
            self.door.release(client[0])

    def enter(self, connection: Connection) -> None:
        """Add a new connection. If there are too many, break some of those whose time to send a request ends first."""
        self.connections.add(connection)
        if len(self.connections) > self.most_connections > 0:
            waiting = [(each.waits_until, each) for each in self.connections if each.waits_until is not None]
            surplus = nsmallest(1 + len(waiting) // 100, waiting, key=itemgetter(0))
            LOG.warning("More than %s connections are open. Unfinished requests are cut.", self.most_connections)
            for _, each in surplus:
                each.cut()

    def leave(self, connection: Connection) -> None:
        """Forget a connection that is lost."""
        self.connections.discard(connection)
        self._note_end()

    async def empty(self, seconds: float) -> None:
        """Shut down all connections. Those that remain after `seconds` are cut, and their applications cancelled."""
        self._emptied = asyncio.Event()
        for connection in tuple(self.connections):
            connection.shut_down()
        self._note_end()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._emptied.wait()
        if tasks := tuple(self.tasks):
            LOG.error("%s requests and sockets did not end within %s seconds", len(tasks), seconds)
        for task in tasks:
            task.cancel()
        for connection in tuple(self.connections):
            connection.cut()

    def _end(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self._note_end()

    def _note_end(self) -> None:
        if self._emptied is not None and not self.connections and not self.tasks:
            self._emptied.set()
