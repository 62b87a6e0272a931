"""Tests of proofs where neither the vectors nor the suite reach: what is read again, and default ports."""

from typing import Any

import pytest

from chatkey_peer.key import BrowserKey
from chatkey_server.identity import encoding, proofs

NOW = 1_795_000_020.0
HTU = "wss://chat.example/v1/socket"
TOKEN = "head.payload.mac"
NONCE = "the-nonce-of-this-connection"


def prove(key: BrowserKey, **claims: Any) -> str:
    """Make a valid proof, with `claims` changed."""
    return key.prove(token=TOKEN, nonce=NONCE, now=NOW, **{"htu": HTU, **claims})


def check(proof: str, key: BrowserKey, nonce: str | None = NONCE) -> proofs.Proof:
    return proofs.verify(proof, token=TOKEN, jkt=key.jkt, nonce=nonce, htu=HTU, now=NOW)


def test_a_proof_in_the_widgets_order_needs_no_second_json_reader(
    key: BrowserKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = prove(key)
    check(proof, key)  # from now on, the key in the header is cached
    read: list[bytes] = []
    monkeypatch.setattr(encoding, "json_object", read.append)

    check(proof, key)

    assert not read


@pytest.mark.parametrize(
    ("left", "right", "is_same"),
    [
        ("ws://localhost:8800/v1/socket", "ws://LOCALHOST:8800/v1/socket", True),
        ("wss://[::1]/v1/socket", "wss://[::1]:443/v1/socket", True),
        (HTU, "WSS://Chat.Example:443/v1/socket", True),
        (HTU, "ws://chat.example/v1/socket", False),
        (HTU, "https://chat.example/v1/socket", False),
        (HTU, "wss://chat.example:8443/v1/socket", False),
        (HTU, f"{HTU}x", False),
    ],
)
def test_addresses_are_compared_without_case_and_default_port(left: str, right: str, *, is_same: bool) -> None:
    assert proofs.same_address(left, right) is is_same
