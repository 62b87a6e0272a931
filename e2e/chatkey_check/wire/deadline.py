"""Ends a call when its time is over. A read timeout would not suffice, because it starts again with each byte."""

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
    """Limits the duration of a `with` block. When the time is over, the connection is shut down, and reads end.

    The deadline keeps a copy of the connection's file descriptor. Therefore it can shut the connection down even during
    a TLS handshake.
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
        """Shut this connection down when the time is over, or at once if the time is already over."""
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
                with suppress(OSError):  # the connection is already closed
                    self._copy.shutdown(socket.SHUT_RDWR)


class Line:
    """The connection of an httpx transport. A deadline can shut this connection down."""

    def __init__(self) -> None:
        self._stream: Any = None

    def watched_by(self, deadline: Deadline) -> Any:
        """Let a deadline watch the current or the next connection. Return the `trace` callback for httpx."""
        kept = self._stream.get_extra_info("socket") if self._stream is not None else None
        if kept is not None and kept.fileno() >= 0:
            deadline.watch(kept)

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event == OPENED:
                self._stream = info["return_value"]
                deadline.watch(self._stream.get_extra_info("socket"))

        return trace

    def answered_on(self, stream: Any) -> None:
        """Remember the stream of an answer. With TLS, this is a different stream than the one that was opened."""
        self._stream = stream
