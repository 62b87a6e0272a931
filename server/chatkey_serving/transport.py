"""Breaks the connection of an ASGI application. ASGI has no message for this."""

from __future__ import annotations


def abort(receive: object) -> None:
    """Break the connection of a request or socket. `receive` is the ASGI callable that uvicorn made for it."""
    receive.__self__.transport.abort()  # type: ignore[attr-defined]
