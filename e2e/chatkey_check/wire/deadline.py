"""Ends a call when its time is over, whatever drips: each byte that comes would otherwise begin the wait anew."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock, Timer
from types import TracebackType
from typing import Any, Final, Self

OPENED: Final = "connection.connect_tcp.complete"


class Deadline:
    """A block that may last so many seconds; then its connection is shut down, and reads from it end.

    The connection is watched through a copy of its descriptor, so it is known during a handshake, too.
    """

    def __init__(self, seconds: float) -> None:
        self.over = False
        """Whether the time has run out."""
        self._copy: socket.socket | None = None
        self._lock = Lock()
        self._timer = Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._forget()

    def watch(self, connection: socket.socket) -> None:
        """Shut this connection down when the time is over, or now if it is."""
        with self._lock:
            self._forget()
            self._copy = socket.socket(fileno=os.dup(connection.fileno()))
        if self.over:
            self._cut()

    def _forget(self) -> None:
        if self._copy is not None:
            self._copy.close()
            self._copy = None

    def _cut(self) -> None:
        with self._lock:
            self.over = True
            if self._copy is not None:
                with suppress(OSError):  # it has ended by itself
                    self._copy.shutdown(socket.SHUT_RDWR)


class Line:
    """The connection of a transport: what httpx says of it, so that a deadline can end it."""

    def __init__(self) -> None:
        self._stream: Any = None

    def watched_by(self, deadline: Deadline) -> Any:
        """Let a deadline watch the connection, or the one that is opened; return what httpx is to call (`trace`)."""
        kept = self._stream.get_extra_info("socket") if self._stream is not None else None
        if kept is not None and kept.fileno() >= 0:
            deadline.watch(kept)

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event == OPENED:
                self._stream = info["return_value"]
                deadline.watch(self._stream.get_extra_info("socket"))

        return trace

    def answered_on(self, stream: Any) -> None:
        """Remember the stream that an answer came on: over TLS it is another one than was opened."""
        self._stream = stream
