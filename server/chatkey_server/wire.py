"""HTTP beneath the app: uvicorn's own, without endless patience, and without alarm at what a peer does wrong."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio


class PatientHttp(HttpToolsProtocol):
    """Cuts a connection that brings nothing, or only half a request, in time: a few thousand would keep others out."""

    def __init__(self, seconds: float, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._seconds = seconds
        self._is_awaited = True
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Read on; go on waiting only for a request that has begun."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        self._rest()

    def on_message_begin(self) -> None:
        """Wait for the rest of a request."""
        self._is_awaited = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Have a whole request."""
        self._is_awaited = False
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Have a socket, which has its own limits of time."""
        self._rest()
        super().handle_websocket_upgrade()

    def _watch(self) -> None:
        if not self._is_awaited:
            self._rest()
        elif self._patience is None and not self.transport.is_closing():
            self._patience = self.loop.call_later(self._seconds, self.transport.abort)

    def _rest(self) -> None:
        self._is_awaited = False
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


def note_broken_text(record: logging.LogRecord) -> bool:
    """Filter uvicorn's log: text that is not UTF-8 is the peer's fault, a warning and no failure with a traceback."""
    if record.exc_info and isinstance(record.exc_info[1], UnicodeDecodeError):
        record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    return True
