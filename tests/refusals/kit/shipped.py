"""Runs one process of the shipped server. Tests can use the server's address, lab and log, and honest callers."""

from __future__ import annotations

import asyncio
import os
import re
import socket as sockets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import httpx
from tests import profile
from tests.refusals.kit.shop import Shop

from chatkey_conform.judging.transcript import Transcript
from chatkey_conform.subject.peer import Ended, Patience, Peer
from chatkey_lab.guard import TOKEN_VARIABLE
from chatkey_peer.key import BrowserKey, Json
from chatkey_peer.wire import wire
from chatkey_protocol.names import AVAILABLE_SOCIALS
from chatkey_stack.applications import Application
from chatkey_stack.lab import ServiceLab, SocialKeys
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK, free_ports
from chatkey_stack.process import Process

MakeService = Callable[..., AbstractContextManager["Service"]]

APPLICATION: Final = Application("google", "shop-client", "shop-client-secret")
OWN_KEYS: Final = SocialKeys("own", APPLICATION)

WAIT: Final = PATIENCE
"""Seconds until a caller gives up on an answer."""

OUR_FAULTS: Final = ("request.failed", "socket.failed")
"""Events that report an exception in the application."""
FAULTS: Final = ("Traceback (most recent call last)", *OUR_FAULTS)


class Service:
    def __init__(
        self,
        process: Process,
        environ: Mapping[str, str],
        provider_port: int,
        lab: ServiceLab,
        http: httpx.Client,
    ) -> None:
        self.process = process
        self.environ = environ
        self.port = port = int(environ["CHATKEY_PORT"])
        self.provider_port = provider_port
        self.lab = lab
        self.http = http
        self.offset = 0.0
        self.secrets: set[str] = set()
        self.base_url = f"http://localhost:{port}"
        self.socket_uri = f"ws://localhost:{port}/v1/socket"

    def now(self) -> float:
        """The service's time: the time of this machine plus the offset that was set in the lab."""
        return time.time() + self.offset

    def advance(self, seconds: float) -> None:
        """Move the service's clock. A fixture resets the clock after the test."""
        self.lab.advance(seconds)
        self.offset += seconds

    def reset(self) -> None:
        self.lab.reset()
        self.offset = 0.0

    def shop(self, **members: Any) -> Shop:
        """Create a business with Google login. Keyword arguments are passed to the lab."""
        given: Json = {"domains": ["shop.example"], "socials": {"google": OWN_KEYS}, **members}
        made = self.lab.add_provider(**given)
        self.secrets.add(made.secret_key)
        return Shop(self, made.id, made.secret_key)

    @contextmanager
    def socket(self, *, origin: str | None = None, path: str = "/v1/socket", **options: Any) -> Iterator[Peer]:
        """Open a WebSocket to the service. `options` are passed to `chatkey_peer.wire.wire`."""
        given = {"subprotocols": ["wf.v1"], "origin": origin, **options}
        with wire(f"ws://{LOOPBACK}:{self.port}{path}", **given) as connection:
            yield Peer(connection, self.socket_uri, Transcript(), self.now, Patience(WAIT))

    def try_token(self, token: str, key: BrowserKey) -> Ended:
        """Connect with this token and an honest proof signed with `key`. Returns how the connection ended."""
        with self.socket() as peer:
            return peer.connect(token, peer.prove(key, token))

    def raw(self, sent: bytes) -> bytes:
        """Send bytes over TCP, and return everything that the server sends until it closes the connection.

        If the server keeps the connection open after the request, this takes seconds.
        """
        received = b""
        with sockets.create_connection((LOOPBACK, self.port), timeout=WAIT) as wire:
            with suppress(ConnectionError):  # the server may close before it has read everything
                wire.sendall(sent)
            with suppress(ConnectionError):
                while chunk := wire.recv(65536):
                    received += chunk
        return received

    def at_once(self, target: str, count: int) -> list[httpx.Response]:
        async def ask() -> list[httpx.Response]:
            async with httpx.AsyncClient(base_url=str(self.http.base_url), trust_env=False, timeout=WAIT) as client:
                return await asyncio.gather(*(client.get(target) for _ in range(count)))

        return asyncio.run(ask())

    def logged(self, text: str, *, since: int = 0) -> str:
        """Wait for a log line that contains `text` and comes after line number `since`. Returns the line."""
        deadline = time.monotonic() + WAIT
        while not (lines := [line for line in self.process.output(since).splitlines() if text in line]):
            assert time.monotonic() < deadline, f"no line with {text!r} was logged"
            threading.Event().wait(0.002)  # the line may still be in the pipe
        return lines[0]

    def heard(self, kind: str) -> Json:
        """Return the newest event of this kind from the lab's feed. Secrets are redacted as in the log."""
        events = self.lab.events(kind=kind)
        assert events, f"nothing of kind {kind} was logged"
        return dict(events[-1])

    def told(self, kind: str, error: Mapping[str, Any]) -> Json:
        """Return the error message that the caller received, and the logged code, member and cause of the refusal."""
        facts = self.heard(kind)["facts"]
        assert facts["code"] == error["code"]
        return {"cause": None, "member": None, **facts, "message": error["message"]}

    def run(self, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a `chatkey` command on the service's data, as an administrator would."""
        return subprocess.run(
            [sys.executable, "-m", "chatkey", *command],
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


SERVE: Final = ("-m", "chatkey", "serve")


@contextmanager
def serving(
    folder: Path, settings: Mapping[str, str], program: Sequence[str] = SERVE, faults: Sequence[str] = FAULTS
) -> Iterator[Service]:
    """Run a server. When the context ends, the log must contain none of `faults`, and neither a token nor a secret."""
    port, provider_port = free_ports(2)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
    environ |= {
        "PYTHONUNBUFFERED": "1",
        "CHATKEY_DATA_DIR": str(folder / "data"),
        "CHATKEY_PORT": str(port),
        "CHATKEY_LAB": "1",
        "CHATKEY_LOG_LEVEL": "debug",
        "CHATKEY_LIMIT_TOKEN_RATE": "0",
        "CHATKEY_LIMIT_OAUTH_RATE": "0",
        "CHATKEY_LIMIT_LOG_LINES": "0",
        **{f"CHATKEY_{name}": value for name, value in settings.items()},
    }
    for social in AVAILABLE_SOCIALS:
        environ[f"CHATKEY_{social.upper()}_BROWSER_URL"] = f"http://localhost:{provider_port}/{social}"
        environ[f"CHATKEY_{social.upper()}_SERVER_URL"] = f"http://{LOOPBACK}:{provider_port}/{social}"
    command = (sys.executable, *program)
    local = f"http://{LOOPBACK}:{port}"
    with (
        Process("service", command, environ=environ, log=folder / "service.log") as process,
        closing(ServiceLab(local, None, environ.get(TOKEN_VARIABLE, ""))) as lab,
        httpx.Client(base_url=local, trust_env=False, timeout=WAIT, event_hooks={"response": [_check]}) as http,
    ):
        service = Service(process, environ, provider_port, lab, http)
        yield service
    log = (folder / "service.log").read_text()
    assert not [line for line in log.splitlines() if any(fault in line for fault in faults)]
    assert not [secret for secret in service.secrets if secret in log]
    assert not re.findall(r".{0,80}eyJ[\w-]{8,}\..{0,20}", log)


def _check(answer: httpx.Response) -> None:
    answer.read()
    profile.answered(answer.url.path, answer.status_code, answer.headers.get("content-type", ""), answer.content)
