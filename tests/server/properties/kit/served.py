"""Runs the shipped server with one business, and sends it raw bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.refusals.kit import shipped

from chatkey_stack.patience import PATIENCE

PROVIDER: Final = "prov_a"
SECRET: Final = b"the-secret-key-of-a-provider-0123456789"
ORIGIN: Final = "https://shop.example"
SECONDS: Final = PATIENCE
"""Seconds that an answer may take on a busy machine."""
_TRACES: Final = ("Traceback (most recent call last)", "request.failed", "socket.failed", "internal")


@dataclass(frozen=True)
class Answer:
    """A response. The names of the headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Served:
    """A running server with the business `prov_a`, which has Google and GitHub logins."""

    def __init__(self, service: shipped.Service) -> None:
        self.base_url = service.base_url
        self.socket_uri = service.socket_uri
        self._service = service

    def ask(self, method: str, target: bytes, body: bytes | None = None, content_type: bytes = b"") -> Answer:
        """Send one request with exactly this target, and return the response."""
        headers = [b"Host: localhost:%d" % self._service.port, b"Connection: close"]
        if body is not None:
            headers += [b"Content-Type: " + content_type, b"Content-Length: %d" % len(body)]
        head = b"\r\n".join((b"%b %b HTTP/1.1" % (method.encode(), target), *headers, b"", b""))
        start, _, content = self._service.raw(head + (body or b"")).partition(b"\r\n\r\n")
        status, *rest = start.decode("latin-1").split("\r\n")
        pairs = (header.partition(": ") for header in rest)
        return Answer(int(status.split(" ")[1]), {name.lower(): value for name, _, value in pairs}, content)

    def check_log(self) -> None:
        """Assert that the server's log contains no internal failure so far."""
        lines = self._service.process.output().splitlines()
        wrong = [line for line in lines if any(trace in line for trace in _TRACES)]
        assert not wrong, "the server's log says: " + "\n".join(wrong[:5])


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Start the server without rate limits. The server cannot reach a social provider."""
    with shipped.serving(folder, {"LIMIT_FRAMES_PER_SECOND": "1000000", "LOG_LEVEL": "info"}) as service:
        keys = dict.fromkeys(("google", "github"), shipped.OWN_KEYS)
        service.shop(id=PROVIDER, secret_key=SECRET.decode(), socials=keys)
        yield Served(service)
