"""One request and its response, for an application that answers a whole request with a whole response."""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final, cast

from chatkey_serving.dates import http_date
from chatkey_serving.exchange import log_request, status_line
from chatkey_serving.request import Invalid
from chatkey_serving.site import LOG, reset

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from chatkey_serving.exchange import Carrier
    from chatkey_serving.request import Request
    from chatkey_serving.site import Answers, Reply, Scope

HEAD: Final = b"%bdate: %b\r\ncontent-length: %d\r\n\r\n"
LAST_HEAD: Final = b"%bdate: %b\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
CONTROLS: Final = dict.fromkeys((*range(32), 127), " ")


class WholeExchange:
    """Calls `answers` with a complete request, and writes the reply in one piece, at once if it can."""

    has_started: Final = False
    """A response in one piece has either not started, or is complete."""

    def __init__(self, answers: Answers, connection: Carrier, request: Request) -> None:
        self.request = request
        self.body = bytearray()
        self.closes = request.closes
        self.is_done = self.is_withheld = self._is_gone = False
        self._answers = answers
        self._connection = connection
        self._pending: asyncio.TimerHandle | None = None
        if request.awaits_continue:  # the client waits for this before it sends the body (RFC 9110 10.1.1)
            connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    @property
    def scope(self) -> Scope:
        return self._connection.scope("http", self.request)

    def add(self, body: bytes) -> None:
        """Add a part of the request's body. Refuse a body that is too large."""
        self.body += body
        if len(self.body) > (most := self._connection.site.limits.body_bytes) and not self._is_gone:
            self.body.clear()
            self._connection.refuse(Invalid(f"The body has more than {most} bytes.", 413))

    def complete(self) -> None:
        """Answer the request."""
        try:
            reply = self._answers(self)
        except Exception:  # noqa: BLE001 - a fault of one request must not end the server
            self._fail()
            return
        if isinstance(reply, CoroutineType):
            self._connection.site.start(self._wait(reply))
        else:
            self._take(cast("Reply", reply))

    def give_up(self) -> None:
        """Do not send the reply."""
        self._is_gone = True
        if self._pending is not None:
            self._pending.cancel()

    async def _wait(self, coming: Coroutine[Any, Any, Reply]) -> None:
        try:
            reply = await coming
        except Exception:  # noqa: BLE001 - a fault of one request must not end the server
            self._fail()
        else:
            self._take(reply)

    def _fail(self) -> None:
        LOG.exception("The application failed to answer %s %s.", self.request.method.decode(), self.request.path)
        self._send(500, (("content-type", "text/plain; charset=utf-8"),), b"Internal Server Error")

    def _take(self, reply: Reply) -> None:
        """Send the reply now, later or never."""
        if reply.delay == 0:
            self._send(reply.status, reply.headers, reply.body, reply.cut)
            return
        self.is_withheld = True
        if reply.delay is not None:
            late = asyncio.get_running_loop().call_later
            self._pending = late(reply.delay, self._send, reply.status, reply.headers, reply.body, reply.cut)

    def _send(self, status: int, headers: tuple[tuple[str, str], ...], body: bytes, cut: str = "") -> None:
        self.is_withheld = False
        if self._is_gone:
            return
        if cut == "before":
            reset(self._connection.transport)
            return
        frame = LAST_HEAD if self.closes else HEAD
        written = frame % (known_head(status, headers), http_date(int(time.time())), len(body))
        if cut:
            self._connection.transport.write(written + body[: len(body) // 2])
            self.closes = True
        else:
            self._connection.transport.write(written if self.request.method == b"HEAD" else written + body)
        if self._connection.site.logs_requests:
            log_request(self.scope, status)
        self.is_done = True
        self._connection.end_exchange()


def header_bytes(value: str) -> bytes:
    """Encode a header value. Control characters become spaces, because a line break would begin another header."""
    return (value if value.isprintable() else value.translate(CONTROLS)).encode("latin-1", "replace")


@lru_cache(maxsize=64)
def known_head(status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Return the part of a head that is the same for all replies with this status and these headers."""
    lines = [b"%b: %b\r\n" % (name.encode(), header_bytes(value)) for name, value in headers]
    return b"".join((status_line(status), b"\r\n", *lines))
