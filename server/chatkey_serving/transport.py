"""The connection beneath an ASGI application, for which ASGI has no word."""

from __future__ import annotations


def abort(receive: object) -> None:
    """Break the connection that a request or socket came on, given its ASGI `receive` as uvicorn made it."""
    receive.__self__.transport.abort()  # type: ignore[attr-defined]
