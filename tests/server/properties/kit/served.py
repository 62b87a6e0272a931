"""Runs the shipped server with one business, and sends it raw bytes."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.request import Request, urlopen

from chatkey_protocol.names import AVAILABLE_SOCIALS
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK, free_ports
from chatkey_stack.process import Process

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


@dataclass(frozen=True)
class Served:
    """A running server with the business `prov_a`. Google and GitHub logins use the service's applications."""

    port: int
    process: Process

    @property
    def base_url(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def socket_uri(self) -> str:
        return f"ws://localhost:{self.port}/v1/socket"

    def ask(self, method: str, target: bytes, body: bytes | None = None, content_type: bytes = b"") -> Answer:
        """Send one request with exactly this target, and return the response."""
        headers = [b"Host: localhost:%d" % self.port, b"Connection: close"]
        if body is not None:
            headers += [b"Content-Type: " + content_type, b"Content-Length: %d" % len(body)]
        head = b"\r\n".join((b"%b %b HTTP/1.1" % (method.encode(), target), *headers, b"", b""))
        with socket.create_connection((LOOPBACK, self.port), timeout=SECONDS) as line:
            line.sendall(head + (body or b""))
            raw = b"".join(iter(lambda: line.recv(65_536), b""))
        start, _, content = raw.partition(b"\r\n\r\n")
        status, *rest = start.decode("latin-1").split("\r\n")
        pairs = (header.partition(": ") for header in rest)
        return Answer(int(status.split(" ")[1]), {name.lower(): value for name, _, value in pairs}, content)

    def check_log(self) -> None:
        """Assert that the server's log contains no internal failure so far."""
        wrong = [line for line in self.process.output().splitlines() if any(trace in line for trace in _TRACES)]
        assert not wrong, "the server's log says: " + "\n".join(wrong[:5])


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Start the server without rate limits. The server cannot reach a social provider."""
    port, nowhere = free_ports(2)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
    environ |= {
        "PYTHONUNBUFFERED": "1",
        "CHATKEY_DATA_DIR": str(folder / "data"),
        "CHATKEY_PORT": str(port),
        "CHATKEY_LAB": "1",
        "CHATKEY_LIMIT_TOKEN_RATE": "0",
        "CHATKEY_LIMIT_OAUTH_RATE": "0",
        "CHATKEY_LIMIT_FRAMES_PER_SECOND": "1000000",
    }
    for social in AVAILABLE_SOCIALS:
        environ[f"CHATKEY_{social.upper()}_BROWSER_URL"] = f"http://localhost:{nowhere}/{social}"
    command = (sys.executable, "-m", "chatkey_server", "serve")
    with Process("service", command, environ=environ, log=folder / "service.log") as process:
        served = Served(port, process)
        for social in ("google", "github"):
            _arrange(
                served, "applications", {"social": social, "client_id": "our-client", "client_secret": "our-secret"}
            )
        business = {"id": PROVIDER, "secret_key": SECRET.decode(), "domains": ["shop.example"]}
        _arrange(served, "providers", {**business, "socials": {"google": {}, "github": {}}})
        yield served


def _arrange(served: Served, what: str, members: dict[str, object]) -> None:
    request = Request(
        f"http://{LOOPBACK}:{served.port}/lab/{what}",
        json.dumps(members).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=SECONDS):
        pass
