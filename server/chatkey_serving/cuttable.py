"""Connections that an application can break. ASGI has no message for this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class Line(Protocol):
    """A connection as the application sees it. `held` means that a response is being withheld."""

    held: bool

    def reset(self) -> None:
        """Break the connection at once."""


class Cuttable(HttpToolsProtocol):
    """Calls `line` with the connection, and adds the result to the scope of each request as an ASGI extension."""

    def __init__(self, extension: str, line: Callable[[asyncio.Transport], Line], **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._extension = extension
        self._make_line = line
        self._line: Line | None = None

    def on_message_begin(self) -> None:
        """Create the scope of a request, and add the extension to the scope."""
        super().on_message_begin()
        line = self._line = self._make_line(self.transport)
        self.scope["extensions"] = {self._extension: line}  # type: ignore[dict-item]

    def shutdown(self) -> None:
        """Close the connection. If a response is withheld, reset the connection, because shutdown would wait for it."""
        super().shutdown()
        if self._line is not None and self._line.held:
            self._line.reset()
