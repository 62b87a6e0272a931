"""Tests how a socket may be opened: by which pages, and with which URL (contract 5.6, D-10)."""

from __future__ import annotations

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.socket.handshake import Handshake


def arrive(*origins: str, query: bytes = b"") -> str | None:
    return Handshake.begin("wss://chat.test/v1/socket", origins, query).origin


@pytest.mark.contract("5.6/secure-context", "D-10/insecure-origin")
@pytest.mark.parametrize("origin", ["http://shop.test", "http://localhost.evil.test", "http://192.168.0.7:8080"])
def test_a_page_over_plain_http_cannot_connect(origin: str) -> None:
    with pytest.raises(Refused) as refusal:
        arrive(origin)

    assert (refusal.value.code, refusal.value.member) == (Code.INSECURE_ORIGIN, "Origin")


@pytest.mark.contract("5.6/secure-context")
@pytest.mark.parametrize(
    "origin", ["https://shop.test", "http://localhost:8800", "http://shop.localhost:1", "http://127.0.0.1:9"]
)
def test_a_page_in_a_secure_context_can(origin: str) -> None:
    assert arrive(origin) == origin


def test_a_client_that_is_no_browser_names_no_origin() -> None:
    assert arrive() is None


@pytest.mark.parametrize(
    "origin", ["null", "", "file://", "chrome-extension://abc", "https://shop.test/path", "ftp://a"]
)
def test_a_page_without_a_web_origin_cannot_connect(origin: str) -> None:
    with pytest.raises(Refused) as refusal:
        arrive(origin)

    assert (refusal.value.code, refusal.value.member) == (Code.ORIGIN_NOT_ALLOWED, "Origin")


def test_two_origins_are_refused() -> None:
    with pytest.raises(Refused) as refusal:
        arrive("https://shop.test", "https://evil.test")

    assert (refusal.value.code, refusal.value.member) == (Code.PARAMETER_REPEATED, "Origin")


def test_a_token_in_the_url_is_refused_and_other_queries_are_not() -> None:
    assert arrive(query=b"v=1") is None

    with pytest.raises(Refused) as refusal:
        arrive(query=b"t=eyJhbGciOiJIUzI1NiJ9.e30.x")

    assert refusal.value.code is Code.PARAMETER_INVALID
    assert "eyJ" not in refusal.value.message
