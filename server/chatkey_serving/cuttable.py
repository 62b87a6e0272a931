"""Connections that an application can break. ASGI itself has no message for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class Line(Protocol):
    """A connection, as an application sees it. `held` means that the application is withholding a response."""

    held: bool

    def reset(self) -> None:
        """Break the connection at once."""


class Cuttable(HttpToolsProtocol):
    """Calls `line` with the connection, and puts the result into each request's scope, as an extension of this name."""

    def __init__(self, extension: str, line: Callable[[asyncio.Transport], Line], **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._extension = extension
        self._make_line = line
        self._line: Line | None = None

    def on_message_begin(self) -> None:
        """Begin a request's scope, and add the extension to it."""
        super().on_message_begin()
        line = self._line = self._make_line(self.transport)
        self.scope["extensions"] = {self._extension: line}  # type: ignore[dict-item]

    def shutdown(self) -> None:
        """Close. If the application withholds its response, reset the connection, so that shutdown does not wait."""
        super().shutdown()
        if self._line is not None and self._line.held:
            self._line.reset()
