"""Fixtures: a browser's key with tokens and proofs, made without the server's code, and a provider to connect to."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from chatkey_peer.key import BrowserKey
from chatkey_protocol.frames import Hello, Kind
from chatkey_server.identity import tokens
from chatkey_server.identity.tokens import Profile, Secrets, unverified
from chatkey_server.settings import Limits
from chatkey_server.socket.connection import Connection
from chatkey_server.storage import admin
from chatkey_server.storage.providers import ProviderView

NOW = 1_800_000_030.0
URI = "wss://chat.test/v1/socket"
SECRET = b"a secret key of at least thirty-two bytes"


class Browser(BrowserKey):
    """A browser's key. It makes tokens bound to the key, and proofs for the socket of these tests."""

    def proof(self, token: str, nonce: str, *, uri: str = URI, now: float = NOW) -> str:
        return self.prove(token=token, nonce=nonce, htu=uri, now=now)

    def visitor_token(self, *, pid: str = "prov", now: float = NOW) -> str:
        return tokens.mint_visitor(Secrets(SECRET), pid=pid, uid=self.uid, now=now)

    def custom_token(
        self,
        uid: str = "ann",
        *,
        pid: str = "prov",
        now: float = NOW,
        name: str | None = "Ann",
        email: str | None = None,
        lifetime: int = 3600,
    ) -> str:
        profile = Profile(name=name, email=email)
        return tokens.mint_custom(
            Secrets(SECRET), pid=pid, uid=uid, jkt=self.jkt, profile=profile, now=now, lifetime=lifetime
        )


@pytest.fixture(scope="session")
def browser() -> Browser:
    return Browser()


@pytest.fixture(scope="session")
def other_browser() -> Browser:
    return Browser()


@pytest.fixture
def provider() -> ProviderView:
    return ProviderView(
        id="prov",
        enabled=True,
        secrets=Secrets(SECRET),
        origins=("https://shop.test",),
        restrict_socket_origins=False,
        socials={},
        configuration=b"",
        etag="",
    )


@dataclass
class Peer:
    """The state machine of a connection, a browser that talks to it, and a clock that a test moves."""

    browser: Browser
    provider: ProviderView
    machine: Connection
    hello: Hello
    now: float = NOW

    @property
    def nonce(self) -> str:
        return self.hello["nonce"]

    def text(self, kind: Kind, **members: object) -> str:
        return json.dumps({"type": kind, **members})

    def connect(self, token: str, proof: str) -> Any:
        frame: Any = self.machine.receive(self.text(Kind.CONNECT, token=token, proof=proof), self.now)
        self.machine.connect(frame, unverified(token), self.provider, self.now)
        return self.machine.ready(self.now)

    def join(self, token: str) -> Any:
        return self.connect(token, self.browser.proof(token, self.nonce, now=self.now))

    def refresh(self, token: str) -> Any:
        frame: Any = self.machine.receive(self.text(Kind.REFRESH, token=token), self.now)
        return self.machine.refresh(frame, self.provider, self.now)


MakePeer = Callable[..., Peer]


@pytest.fixture
def make_peer(browser: Browser, provider: ProviderView) -> MakePeer:
    def make(*, limits: Limits | None = None) -> Peer:
        machine = Connection(URI, limits or Limits(), now=NOW)
        return Peer(browser, provider, machine, machine.arrive([], b""))

    return make


@pytest.fixture
async def shop(client: Any) -> Any:
    """The app in this process, with the provider `prov`."""
    await admin.add_provider(
        client.services.vault, now=NOW, id="prov", secret_key=SECRET.decode(), domains=["shop.test"]
    )
    return client


Join = Callable[..., Awaitable[Any]]


@pytest.fixture
def join(open_socket: Any, shop: Any, browser: Browser) -> Join:
    """Open a socket and connect with a token. Returns the socket after `ready`.

    By default, this connects to `shop`. A test may pass another app with the same database.
    """

    async def connect(token: str, *, browser: Browser = browser, client: Any = shop) -> Any:
        socket = await open_socket(client, "/v1/socket", subprotocols=["wf.v1"])
        hello = await socket.next()
        uri, now = client.services.settings.socket_uri, client.services.clock()
        proof = browser.proof(token, hello["nonce"], uri=uri, now=now)
        await socket.send({"type": "connect", "token": token, "proof": proof})
        socket.ready = await socket.next()
        return socket

    return connect


@pytest.fixture
def peer(make_peer: MakePeer) -> Peer:
    return make_peer()
