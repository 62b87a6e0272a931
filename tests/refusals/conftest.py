"""The shipped server as one process, and honest callers made by other code than its own: keys, tokens, proofs, peers.

A test is given `service`, makes a shop of its own with `service.shop()`, and builds what it sends by fault: the honest
input is accepted, the same input with one fault is refused. A case carries the id of its row in `ids.txt`, as the id
of a parameter (`pytest.param(…, id="JWT-004")`, with a word behind it where a row has several) or by
`@pytest.mark.row("JWT-079")`.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import socket as sockets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from chatkey_demo.stack.applications import Application
from chatkey_demo.stack.lab import ServiceLab, SocialKeys
from chatkey_demo.stack.ports import LOOPBACK, free_ports
from chatkey_demo.stack.process import Process
from chatkey_oauth.client import FakeOAuth
from chatkey_protocol.names import AVAILABLE_SOCIALS

Json = dict[str, Any]
MakeService = Callable[..., AbstractContextManager["Service"]]

REMOVED: Final = object()
"""As the value of a claim or member: it is left out."""

WAIT: Final = 10.0
"""Seconds until a peer that hears nothing gives up."""

_TRACES: Final = ("Traceback (most recent call last)", "request.failed", "socket.failed")


# what browsers and integrators make


def b64(raw: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    """Read base64url without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def dumps(value: object) -> bytes:
    """Write compact JSON; bytes are left as they are, to send what no writer would write."""
    return value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()


def merged(honest: Mapping[str, Any], changes: Mapping[str, Any]) -> Json:
    """Return the honest members with the changes made, and those that are `REMOVED` left out."""
    return {name: value for name, value in {**honest, **changes}.items() if value is not REMOVED}


@dataclass(frozen=True)
class BrowserKey:
    """A P-256 pair as a browser holds it."""

    private: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1()), repr=False
    )

    @property
    def jwk(self) -> dict[str, str]:
        """The public key (RFC 7517)."""
        numbers = self.private.public_key().public_numbers()
        x, y = (b64(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
        return {"kty": "EC", "crv": "P-256", "x": x, "y": y}

    @property
    def jkt(self) -> str:
        """The thumbprint (RFC 7638)."""
        jwk = self.jwk
        text = f'{{"crv":"P-256","kty":"EC","x":"{jwk["x"]}","y":"{jwk["y"]}"}}'
        return b64(hashlib.sha256(text.encode()).digest())

    @property
    def uid(self) -> str:
        """The visitor uid (contract 2.3)."""
        return f"v_{self.jkt}"

    def sign(self, signed: bytes) -> bytes:
        """Return the raw r‖s signature (RFC 7518 3.4)."""
        r, s = decode_dss_signature(self.private.sign(signed, ec.ECDSA(SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


class Maker:
    """Makes JWS and tokens, whole or with any fault. `REMOVED` leaves a member out; bytes stand for themselves."""

    b64 = staticmethod(b64)
    unb64 = staticmethod(unb64)
    dumps = staticmethod(dumps)
    merged = staticmethod(merged)
    removed: Final = REMOVED

    def mac(self, signed: str | bytes, key: bytes) -> bytes:
        """Return the HMAC-SHA256."""
        return hmac.digest(key, signed if isinstance(signed, bytes) else signed.encode(), "sha256")

    def jws(self, header: object, payload: object, key: bytes) -> str:
        """Return a compact JWS with an HS256 MAC, whatever its header says."""
        signed = f"{b64(dumps(header))}.{b64(dumps(payload))}"
        return f"{signed}.{b64(self.mac(signed, key))}"

    def minute_key(self, secret: bytes, at: float) -> bytes:
        """Return the key of visitor tokens issued at `at` (contract 2.6)."""
        return self.mac(time.strftime("%H:%M", time.gmtime(at)), secret)

    def proof(
        self,
        key: BrowserKey,
        *,
        token: str,
        nonce: str,
        htu: str,
        now: float,
        header: Mapping[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        """Return a connection proof (D-10); `header` and `claims` change members of the honest one."""
        full = {"typ": "wf-proof+jwt", "alg": "ES256", "jwk": key.jwk}
        honest = {
            "jti": secrets.token_urlsafe(12),
            "iat": int(now),
            "htm": "GET",
            "htu": htu,
            "nonce": nonce,
            "ath": b64(hashlib.sha256(token.encode("ascii", "replace")).digest()),
        }
        signed = f"{b64(dumps(merged(full, header or {})))}.{b64(dumps(merged(honest, claims)))}"
        return f"{signed}.{b64(key.sign(signed.encode()))}"


class Shop:
    """A business of one test, and the tokens its backend and the service make for it."""

    header: Final = {"alg": "HS256", "typ": "JWT"}

    def __init__(self, service: Service, provider_id: str, secret: str) -> None:
        self._service = service
        self.id = provider_id
        self.secret = secret.encode()
        self.key = BrowserKey()
        self.path = f"/v1/public/provider/{provider_id}"

    @property
    def now(self) -> int:
        """The service's time, in whole seconds."""
        return int(self._service.now())

    def claims(self, **changes: Any) -> Json:
        """Return the claims of an honest custom login (contract 2.4)."""
        now = self.now
        honest = {
            "pid": self.id,
            "uid": "customer-7",
            "type": "user",
            "iat": now,
            "exp": now + 3600,
            "cnf": {"jkt": self.key.jkt},
            "name": "Ada Lovelace",
        }
        return merged(honest, changes)

    def identity_claims(self, **changes: Any) -> Json:
        """Return the claims of an identity token as the callback makes it (contract 2.5)."""
        now = self.now
        honest = {
            "pid": self.id,
            "uid": "google:42",
            "type": "identity",
            "iat": now,
            "exp": now + 86_400,
            "name": "Ada Lovelace",
            "cnf": {"jkt": self.key.jkt},
        }
        return merged(honest, changes)

    def visitor_claims(self, **changes: Any) -> Json:
        """Return the claims of a visitor's token (contract 2.6)."""
        now = self.now
        honest = {"pid": self.id, "uid": self.key.uid, "type": "visitor", "iat": now, "exp": (now // 60 + 2) * 60}
        return merged(honest, changes)

    def sign(self, claims: object, *, header: object = None, key: bytes | None = None) -> str:
        """Return a token with these claims, under the shop's own secret unless another key is given."""
        return Maker().jws(self.header if header is None else header, claims, self.secret if key is None else key)

    def token(self, **changes: Any) -> str:
        """Return an honest custom token with these claims changed."""
        return self.sign(self.claims(**changes))

    def identity_token(self, **changes: Any) -> str:
        """Return an identity token with these claims changed."""
        return self.sign(self.identity_claims(**changes))

    def visitor_token(self) -> str:
        """Ask the service for a visitor's token."""
        answer = self._service.http.get(f"{self.path}/token", params={"uid": self.key.uid})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["data"]["auth_token"])

    def exchange(self, auth: str, jkt: str | None = None) -> httpx.Response:
        """Send an identity token to the member token endpoint (contract 4.3)."""
        query = {"auth": auth, "jkt": self.key.jkt if jkt is None else jkt}
        return self._service.http.get(f"{self.path}/member/token", params=query)


# what is at the other end of a socket


@dataclass(frozen=True)
class Ended:
    """How a socket ended: every frame after `hello`, the close code, its reason. `code` is None while it is open."""

    frames: list[Json]
    close: int | None
    reason: str

    @property
    def last(self) -> Json:
        """The last frame."""
        return self.frames[-1]

    @property
    def granted(self) -> bool:
        """Whether `ready` ever came."""
        return any(frame["type"] == "ready" for frame in self.frames)

    @property
    def refusal(self) -> tuple[str, int | None]:
        """The refusal's code and the close code, once it is sure that nothing was granted and nothing else said."""
        assert [frame["type"] for frame in self.frames] == ["error"], self
        assert self.reason == self.last["code"], self
        return self.last["code"], self.close


class Peer:
    """One open socket; `hello` has been read unless the server refused at once."""

    def __init__(self, connection: ClientConnection, service: Service) -> None:
        self.connection = connection
        self._service = service
        self._first = self.next()
        self.nonce = str(self._first.get("nonce", ""))

    @property
    def hello(self) -> Json:
        """The server's first frame."""
        return self._first

    def say(self, frame: Mapping[str, Any] | str | bytes) -> None:
        """Send a frame: an object as JSON, a text or bytes as they are."""
        self.connection.send(json.dumps(frame) if isinstance(frame, Mapping) else frame)

    def next(self) -> Json:
        """Return the next frame."""
        frame: Json = json.loads(self.connection.recv(timeout=WAIT))
        return frame

    def ask(self, frame: Mapping[str, Any] | str | bytes) -> Json:
        """Send a frame and return the next that comes."""
        self.say(frame)
        return self.next()

    def end(self) -> Ended:
        """Read until the server closes. Raises TimeoutError when it does not."""
        frames = [] if self._first["type"] == "hello" else [self._first]
        try:
            while True:
                frames.append(self.next())
        except ConnectionClosed as closed:
            received = closed.rcvd
            return Ended(frames, received.code if received else None, received.reason if received else "")

    def prove(self, key: BrowserKey, token: str, **changes: Any) -> str:
        """Return an honest proof for this connection, with these members changed."""
        honest = {"nonce": self.nonce, "htu": self._service.socket_uri, "now": self._service.now()}
        return Maker().proof(key, token=token, **{**honest, **changes})

    def connect(self, token: str, proof: str) -> Ended:
        """Send `connect`, and return `ready`, or the refusal with its close."""
        self.say({"type": "connect", "token": token, "proof": proof})
        answer = self.next()
        if answer["type"] == "ready":
            return Ended([answer], None, "")
        ended = self.end()
        return Ended([answer, *ended.frames], ended.close, ended.reason)


# the server


class Service:
    """The running server: its address, its lab, its log, and callers."""

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
        self.base_url = f"http://localhost:{port}"
        self.socket_uri = f"ws://localhost:{port}/v1/socket"

    def now(self) -> float:
        """The service's time: this machine's, and how far the lab's clock was moved."""
        return time.time() + self.offset

    def advance(self, seconds: float) -> None:
        """Move the service's clock; it goes back after the test."""
        self.lab.advance(seconds)
        self.offset += seconds

    def reset(self) -> None:
        """Put clock, faults, caches and rate limits back."""
        self.lab.reset()
        self.offset = 0.0

    def shop(self, **members: Any) -> Shop:
        """Make a business that nobody else has, with Google login; keyword arguments as the lab takes them."""
        given: Json = {"domains": ["shop.example"], "socials": {"google": OWN_KEYS}, **members}
        made = self.lab.add_provider(**given)
        return Shop(self, made.id, made.secret_key)

    @contextmanager
    def socket(self, *, origin: str | None = None, path: str = "/v1/socket", **options: Any) -> Iterator[Peer]:
        """Open a socket; `options` go to `websockets.sync.client.connect`."""
        with connect(
            f"ws://{LOOPBACK}:{self.port}{path}",
            **{"subprotocols": ["wf.v1"], "origin": origin, "proxy": None, "compression": None, **options},
        ) as connection:
            yield Peer(connection, self)

    def try_token(self, token: str, key: BrowserKey) -> Ended:
        """Open a socket with this token and an honest proof by `key` over it."""
        with self.socket() as peer:
            return peer.connect(token, peer.prove(key, token))

    def raw(self, sent: bytes) -> bytes:
        """Send bytes over TCP and return what comes back until the server closes, which is seconds if it need not."""
        received = b""
        with sockets.create_connection((LOOPBACK, self.port), timeout=WAIT) as wire:
            with suppress(ConnectionError):  # the server may have heard enough
                wire.sendall(sent)
            with suppress(ConnectionError):
                while chunk := wire.recv(65536):
                    received += chunk
        return received

    def at_once(self, target: str, count: int) -> list[httpx.Response]:
        """Send the same GET so many times side by side."""

        async def ask() -> list[httpx.Response]:
            async with httpx.AsyncClient(base_url=str(self.http.base_url), trust_env=False, timeout=WAIT) as client:
                return await asyncio.gather(*(client.get(target) for _ in range(count)))

        return asyncio.run(ask())

    def logged(self, text: str, *, since: int = 0) -> str:
        """Wait for a line of the process's log that holds a text, written after line number `since`."""
        deadline = time.monotonic() + WAIT
        while not (lines := [line for line in self.process.output(since).splitlines() if text in line]):
            assert time.monotonic() < deadline, f"no line with {text!r} was logged"
            threading.Event().wait(0.002)  # the line is on its way through a pipe
        return lines[0]

    def heard(self, kind: str) -> Json:
        """Return the newest event of a kind in the log's feed: what was logged, redacted."""
        events = self.lab.events(kind=kind)
        assert events, f"nothing of kind {kind} was logged"
        return dict(events[-1])

    def told(self, kind: str, error: Mapping[str, Any]) -> Json:
        """Return what a refusal's caller was told and what was logged of it: code, message, member, cause."""
        facts = self.heard(kind)["facts"]
        assert facts["code"] == error["code"]
        return {"cause": None, "member": None, **facts, "message": error["message"]}

    def run(self, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a `chatkey` command on the service's own data, as its administrator would."""
        return subprocess.run(
            [sys.executable, "-m", "chatkey_server", *command],
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )


APPLICATION: Final = Application("google", "shop-client", "shop-client-secret")
OWN_KEYS: Final = SocialKeys("own", APPLICATION)


@pytest.fixture(scope="session")
def service(make_service: MakeService) -> Iterator[Service]:
    """The server as it is shipped, one process for the whole run, without limits of rate."""
    with make_service() as made:
        yield made


@pytest.fixture(scope="session")
def make_service(tmp_path_factory: pytest.TempPathFactory) -> MakeService:
    """Start a server as it is shipped, with further settings; keyword arguments are `CHATKEY_*` without the prefix."""
    return lambda **settings: _serving(tmp_path_factory.mktemp("refusals"), settings)


@contextmanager
def _serving(folder: Path, settings: Mapping[str, str]) -> Iterator[Service]:
    """Run a server; at the end its log must hold no traceback and nothing like a token, whatever it was sent."""
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
        **{f"CHATKEY_{name}": value for name, value in settings.items()},
    }
    for social in AVAILABLE_SOCIALS:
        environ[f"CHATKEY_{social.upper()}_BROWSER_URL"] = f"http://localhost:{provider_port}/{social}"
        environ[f"CHATKEY_{social.upper()}_SERVER_URL"] = f"http://{LOOPBACK}:{provider_port}/{social}"
    command = (sys.executable, "-m", "chatkey_server", "serve")
    local = f"http://{LOOPBACK}:{port}"
    with (
        Process("service", command, environ=environ, log=folder / "service.log") as process,
        closing(ServiceLab(local, None)) as lab,
        httpx.Client(base_url=local, trust_env=False, timeout=WAIT) as http,
    ):
        yield Service(process, environ, provider_port, lab, http)
    log = (folder / "service.log").read_text()
    assert not [line for line in log.splitlines() if any(trace in line for trace in _TRACES)]
    assert not re.findall(r".{0,80}eyJ[\w-]{8,}\..{0,20}", log)


@pytest.fixture(autouse=True)
def _time_restored(request: pytest.FixtureRequest) -> Iterator[None]:
    """Put the service's clock back after a test that moved it."""
    yield
    if "service" in request.fixturenames:
        service: Service = request.getfixturevalue("service")
        if service.offset:
            service.reset()


@pytest.fixture(scope="session")
def make() -> Maker:
    """Makes JWS and proofs with any fault."""
    return Maker()


@pytest.fixture
def key() -> BrowserKey:
    """A browser's key."""
    return BrowserKey()


@pytest.fixture(scope="module")
def shop(service: Service) -> Shop:
    """The business of one module."""
    return service.shop()


@pytest.fixture(scope="session")
def provider(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeOAuth]:
    """The fake provider, started for those who ask; the service was told its address from the beginning."""
    folder = tmp_path_factory.mktemp("provider")
    clients = [
        {
            "provider": social,
            "client_id": APPLICATION.client_id,
            "client_secret": APPLICATION.client_secret,
            "name": "Refusals",
            "redirect_uris": [f"{service.base_url}/v1/public/oauth/{social}/callback"],
        }
        for social in AVAILABLE_SOCIALS
    ]
    (folder / "clients.json").write_text(json.dumps(clients))
    local = f"http://{LOOPBACK}:{service.provider_port}"
    command = (sys.executable, "-m", "chatkey_server", "fake-oauth", "--lab", "--port", str(service.provider_port))
    addresses = ("--browser-url", f"http://localhost:{service.provider_port}", "--server-url", local)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
    with (
        Process(
            "provider",
            (*command, "--clients", str(folder / "clients.json"), *addresses),
            environ={**environ, "PYTHONUNBUFFERED": "1"},
            log=folder / "provider.log",
        ),
        FakeOAuth(local) as fake,
    ):
        yield fake


# the rows


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker of rows known."""
    config.addinivalue_line("markers", "row(*ids): the rows of ids.txt that this test is; it runs under each id")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that is marked with rows once under each of their ids."""
    rows = [row for mark in metafunc.definition.iter_markers("row") for row in mark.args]
    if rows:
        metafunc.fixturenames.append("row")
        metafunc.parametrize("row", rows)


@pytest.fixture
def row(request: pytest.FixtureRequest) -> str:
    """The id of the row that the test runs under."""
    return str(request.param)


# where a token is shown


class SocketDoor:
    """The socket, which takes a custom login's token (contract 2.4)."""

    name: Final = "socket"
    closes: Final = {
        "provider_unknown": 4403,
        "provider_off": 4403,
        "proof_binding_missing": 4403,
        "token_expired": 4419,
        "frame_too_large": 1009,
    }

    def __init__(self, service: Service, shop: Shop) -> None:
        self._service = service
        self.shop = shop

    def claims(self, **changes: Any) -> Json:
        """Return the claims that are honest here, with these changed."""
        return self.shop.claims(**changes)

    def accept(self, token: str) -> None:
        """Show a token that must be accepted."""
        ended = self._service.try_token(token, self.shop.key)
        assert ended.granted, ended

    def refuse(self, token: str, code: str) -> Json:
        """Show a token that must be refused with this code and its close; return what was told and logged."""
        ended = self._service.try_token(token, self.shop.key)
        assert ended.refusal == (code, self.closes.get(code, 4401))
        return self._service.told("socket.refused", ended.last)


class AuthDoor:
    """The member token endpoint, which takes an identity token as `auth` (contract 4.3)."""

    name: Final = "auth"

    def __init__(self, service: Service, shop: Shop) -> None:
        self._service = service
        self.shop = shop

    def claims(self, **changes: Any) -> Json:
        """Return the claims that are honest here, with these changed."""
        return self.shop.identity_claims(**changes)

    def accept(self, token: str) -> None:
        """Show a token that must be accepted."""
        answer = self.shop.exchange(token)
        assert answer.status_code == 200, answer.text

    def refuse(self, token: str, code: str) -> Json:
        """Show a token that must be refused with this code and 401; return what was told and logged."""
        answer = self.shop.exchange(token)
        assert answer.status_code == 401, answer.text
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["cache-control"] == "no-store"
        body = answer.json()
        assert (body["data"], body["error"]["code"]) == (None, code)
        return self._service.told("token.refused", body["error"])


Door = SocketDoor | AuthDoor


@pytest.fixture
def socket_door(service: Service, shop: Shop) -> SocketDoor:
    """The socket."""
    return SocketDoor(service, shop)


@pytest.fixture
def auth_door(service: Service, shop: Shop) -> AuthDoor:
    """The member token endpoint."""
    return AuthDoor(service, shop)


@pytest.fixture(params=[SocketDoor, AuthDoor], ids=["socket", "auth"])
def door(request: pytest.FixtureRequest, service: Service, shop: Shop) -> Door:
    """Each place where a token is shown, in turn."""
    made: Door = request.param(service, shop)
    return made
