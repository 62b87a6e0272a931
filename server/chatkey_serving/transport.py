"""Breaks the connection of an ASGI application. ASGI itself has no message for that."""

from __future__ import annotations


def abort(receive: object) -> None:
    """Break the connection of a request or socket. `receive` is its ASGI callable, as made by uvicorn."""
    receive.__self__.transport.abort()  # type: ignore[attr-defined]
