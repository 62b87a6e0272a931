"""Connections that an application can cut, for which ASGI has no word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class Line(Protocol):
    """What an application is given of its connection. `held`: it withholds an answer."""

    held: bool

    def reset(self) -> None:
        """End the connection at once."""


class Cuttable(HttpToolsProtocol):
    """Puts what `line` makes of the connection into each request's scope, as the extension of this name."""

    def __init__(self, extension: str, line: Callable[[asyncio.Transport], Line], **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._extension = extension
        self._make_line = line
        self._line: Line | None = None

    def on_message_begin(self) -> None:
        """Begin a request's scope."""
        super().on_message_begin()
        line = self._line = self._make_line(self.transport)
        self.scope["extensions"] = {self._extension: line}  # type: ignore[dict-item]

    def shutdown(self) -> None:
        """Let nobody's hanging answer keep the server from its end."""
        super().shutdown()
        if self._line is not None and self._line.held:
            self._line.reset()
