"""A socket that reconnects after a loss, and then sends all unacknowledged messages again."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import gevent  # type: ignore[import-untyped]
from gevent.event import Event  # type: ignore[import-untyped]
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage

from chatkey_load.books import report

if TYPE_CHECKING:
    from locust.env import Environment
    from websockets.sync.client import ClientConnection

Json = dict[str, Any]

OPEN_SECONDS: Final = 10.0
PING_SECONDS: Final = 25.0
CROWD: Final = frozenset({1012, 1013})
"""Close codes that hit all clients at once. They reconnect spread over this time, which grows with each try."""
CROWD_SECONDS: Final = 10.0
LONGEST_WAIT: Final = 30.0
MOST_DOUBLINGS: Final = 10


class NotOpened(Exception):
    """The socket could not be opened. The message is the reason."""


class Connection:
    """One user's socket. `opens` opens and authenticates the socket. `hears` is called with each frame."""

    def __init__(
        self,
        environment: Environment,
        opens: Callable[[], AbstractContextManager[ClientConnection]],
        hears: Callable[[Json], None],
    ) -> None:
        self._environment = environment
        self._opens = opens
        self._hears = hears
        self._unacknowledged: dict[str, Json] = {}
        self._socket: ClientConnection | None = None
        self._is_over = False
        self.ready = Event()
        self._staying = gevent.spawn(self._stay)

    def post(self, frame: Json) -> None:
        """Send a frame, and send it again after each reconnect until `acknowledged` is called with the frame's id."""
        self._unacknowledged[frame["id"]] = frame
        self._say(frame)

    def acknowledged(self, message_id: str) -> None:
        """Stop resending this message."""
        self._unacknowledged.pop(message_id, None)

    def close(self) -> None:
        self._is_over = True
        if self._socket is not None:
            self._socket.close()
        self._staying.kill()

    def _say(self, frame: Mapping[str, object]) -> None:
        if self._socket is None:
            return
        try:
            self._socket.send(json.dumps(frame))
        except ConnectionClosed:
            return  # the next socket sends it again

    def _stay(self) -> None:
        tries = 1
        while not self._is_over:
            base = 1.0
            try:
                with self._opened() as socket:
                    tries = 0
                    self._listen(socket)
            except NotOpened:
                pass  # _opened has reported it
            except ConnectionClosed as closed:
                if not self._is_over:
                    report(self._environment, "connection lost", time.perf_counter(), closed)
                base = CROWD_SECONDS if closed.rcvd is not None and closed.rcvd.code in CROWD else base
            tries += 1
            gevent.sleep(random.uniform(0, min(LONGEST_WAIT, base * 2 ** min(tries - 1, MOST_DOUBLINGS))))  # noqa: S311

    @contextmanager
    def _opened(self) -> Iterator[ClientConnection]:
        begun = time.perf_counter()
        with ExitStack() as ending:
            try:
                socket = ending.enter_context(self._opens())
            except (OSError, InvalidHandshake, InvalidMessage, ConnectionClosed, NotOpened) as error:
                report(self._environment, "connect", begun, error)
                raise NotOpened(str(error)) from error
            report(self._environment, "connect", begun)
            self._socket = socket
            self.ready.set()
            for frame in tuple(self._unacknowledged.values()):
                self._say(frame)
            try:
                yield socket
            finally:
                self._socket = None
                self.ready.clear()

    def _listen(self, socket: ClientConnection) -> None:
        while True:
            try:
                text = socket.recv(timeout=PING_SECONDS)
            except TimeoutError:
                self._say({"type": "ping"})
                continue
            self._hears(json.loads(text))
