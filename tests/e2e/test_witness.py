"""Tests of the leak check.

The check must report a token in every place where the contract forbids tokens, and in no other place.
"""

import json
from dataclasses import dataclass, field
from typing import Any, cast

import jwt
import pytest
from playwright.sync_api import BrowserContext, Request

from chatkey_e2e.sockets import Sent, Socket
from chatkey_e2e.witness import Witness
from chatkey_stack.stack import Stack

SECRET = "the-provider's-secret-key-of-32-bytes"
URI = "wss://chat.localhost/v1/socket"
EXCHANGE = "https://chat.localhost/v1/public/provider/p/member/token"


def token(**claims: object) -> str:
    return jwt.encode(claims, SECRET, algorithm="HS256")


VISITOR = token(type="visitor")
CUSTOM = token(type="user", uid="u-1")
SOCIAL = token(type="user", uid="google:1", data={"auth_provider": "google"})
IDENTITY = token(type="identity", uid="google:1")


@dataclass
class FakeRequest:
    url: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class FakePage:
    storage: dict[str, str] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    url: str = "https://shop.localhost/"

    def is_closed(self) -> bool:
        return False

    def evaluate(self, script: str) -> dict[str, Any]:
        return {"localStorage": self.storage, "elsewhere": self.elsewhere}


@dataclass
class FakeContext:
    pages: list[FakePage]


@dataclass
class FakeProcess:
    name: str = "service"
    written: str = ""
    mark: int = 0

    def output(self, since: int) -> str:
        return self.written


@dataclass
class FakeServer:
    process: FakeProcess


@dataclass
class FakeStack:
    servers: list[FakeServer]


def make_witness(written: str = "") -> Witness:
    """Return a witness that has recorded a socket opened with each kind of token."""
    witness = Witness(cast("Stack", FakeStack([FakeServer(FakeProcess(written=written))])), {SECRET})
    witness.sent += [Sent(URI, json.dumps({"type": "connect", "token": token})) for token in (VISITOR, CUSTOM, SOCIAL)]
    witness.requests.append(cast("Request", FakeRequest(f"{EXCHANGE}?auth={IDENTITY}&jkt=x")))
    return witness


def leaks(witness: Witness, page: FakePage | None = None) -> list[str]:
    return witness.leaks([cast("BrowserContext", FakeContext([page or FakePage()]))])


@pytest.mark.contract("2.8/member-token-key")
def test_tokens_in_the_places_of_the_contract_are_no_leak() -> None:
    page = FakePage({"wf_member_token_p": CUSTOM, "wf_member_token_q": IDENTITY}, {"text": "Ada"})

    assert leaks(make_witness("socket.ready uid=u-1"), page) == []


@pytest.mark.parametrize(("leaked", "kind"), [(SECRET, "a secret of the business"), (VISITOR, "type 'visitor'")])
def test_a_secret_or_token_in_a_servers_output_is_a_leak(leaked: str, kind: str) -> None:
    found = leaks(make_witness(f"refused {leaked}"))

    assert len(found) == 1
    assert kind in found[0]
    assert "service's output" in found[0]
    assert leaked not in found[0]


def test_a_token_on_the_console_is_a_leak() -> None:
    witness = make_witness()
    witness.said.append(f"token: {CUSTOM}")

    assert leaks(witness) == ["a token of type 'user' in the console"]


@pytest.mark.contract("2.6/memory-only")
@pytest.mark.parametrize("leaked", [VISITOR, SOCIAL])
def test_an_auth_token_in_the_cache_of_member_tokens_is_a_leak(leaked: str) -> None:
    found = leaks(make_witness(), FakePage({"wf_member_token_p": leaked}))

    assert len(found) == 1
    assert found[0].endswith("in the cached member token")


@pytest.mark.parametrize("leaked", [VISITOR, CUSTOM, SOCIAL, IDENTITY])
def test_any_token_under_another_storage_key_is_a_leak(leaked: str) -> None:
    assert len(leaks(make_witness(), FakePage({"debug": leaked}))) == 1


@pytest.mark.parametrize("place", ["sessionStorage", "cookie", "text", "attributes", "url", "name"])
def test_a_token_elsewhere_in_the_page_is_a_leak(place: str) -> None:
    found = leaks(make_witness(), FakePage(elsewhere={place: f"x{CUSTOM}x"}))

    assert found == [f"a token of type 'user' in {place} of https://shop.localhost/"]


def test_a_token_in_an_address_is_a_leak() -> None:
    witness = make_witness()
    witness.requests.append(cast("Request", FakeRequest(f"https://shop.localhost/?t={IDENTITY}")))
    witness.sockets.append(Socket(f"{URI}?token={VISITOR}"))

    assert sorted(leaks(witness)) == [
        "a token of type 'identity' in the address https://shop.localhost/",
        f"a token of type 'visitor' in the address {URI}",
    ]


def test_a_token_in_a_referrer_is_a_leak() -> None:
    witness = make_witness()
    referrer = {"referer": f"{EXCHANGE}?auth={IDENTITY}"}
    witness.requests.append(cast("Request", FakeRequest("https://id.localhost/x", referrer)))

    assert leaks(witness) == ["a token of type 'identity' in the referrer sent to https://id.localhost/x"]
