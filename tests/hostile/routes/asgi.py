"""Sends one request to an ASGI application in this process. No client library changes the request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import unquote

Asgi = Callable[[Any, Any, Any], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]


class Call(NamedTuple):
    method: str
    target: bytes
    """Path and query, as in the request line."""
    headers: Headers = ()
    body: bytes = b""

    def with_headers(self, *headers: tuple[bytes, bytes]) -> Call:
        """Return a copy of the request. `headers` are added, or replace headers with the same name."""
        names = {name for name, _ in headers}
        kept = tuple(header for header in self.headers if header[0] not in names)
        return self._replace(headers=kept + headers)

    def __str__(self) -> str:
        shown = {name.decode("latin-1"): value[:80] for name, value in self.headers}
        return f"{self.method} {self.target[:160]!r} {shown} {self.body[:160]!r}"


class Answer(NamedTuple):
    status: int
    headers: Headers
    body: bytes


async def ask(app: Asgi, call: Call) -> Answer:
    """Send a request as uvicorn would pass it to the application, and return the response."""
    path, _, query = call.target.partition(b"?")
    named = {name for name, _ in call.headers}
    usual = [(b"host", b"localhost:8800")] if b"host" not in named else []
    length = [(b"content-length", b"%d" % len(call.body))] if call.body else []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "server": ("127.0.0.1", 8800),
        "client": ("127.0.0.1", 50_000),
        "scheme": "http",
        "root_path": "",
        "method": call.method,
        "path": unquote(path.decode("ascii")),
        "raw_path": path,
        "query_string": query,
        "headers": [*usual, *call.headers, *length],
        "state": {},
        "extensions": {},
    }
    bodies = [{"type": "http.request", "body": call.body, "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return bodies.pop() if bodies else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    started = [message for message in sent if message["type"] == "http.response.start"]
    assert len(started) == 1, f"{len(started)} answers to {call}"
    body = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    return Answer(started[0]["status"], tuple(started[0]["headers"]), body)
