"""Functions that read requests and send responses as an ASGI application does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any

from chatkey_oauth.engine.call import Call
from chatkey_serving.whole import header_bytes

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def call_of(method: str, path: str, query: bytes, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Call:
    text = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
    return Call(method, path, query.decode("ascii", "surrogateescape"), text, body)


async def read_body(receive: Receive, most: int) -> bytes | None:
    """Read the request body. Return None if the body is longer than `most` bytes."""
    body, more = bytearray(), True
    while more and len(body) <= most:
        message = await receive()
        if message["type"] != "http.request":
            break
        body += message["body"]
        more = message["more_body"]
    return bytes(body) if len(body) <= most else None


async def send_answer(send: Send, answer: Answer, *, with_body: bool = True) -> None:
    headers = [(name.encode("latin-1"), header_bytes(value)) for name, value in answer.headers]
    headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body if with_body else b"", "more_body": False})


async def live(receive: Receive, send: Send) -> None:
    """Complete the ASGI lifespan protocol. The fake has nothing to start or stop."""
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
