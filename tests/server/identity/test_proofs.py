"""Tests of proofs that are made with a real key, and of the values that a proof must match.

The table `chatkey_conform.making.proof_verdicts` lists the refused proofs and the codes.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkey_peer.key import BrowserKey
from chatkey_protocol.codes import Code
from chatkey_server.identity import encoding, proofs
from chatkey_server.identity.errors import Refused

NOW = 1_795_000_020.0
HTU = "wss://chat.example/v1/socket"
TOKEN = "head.payload.mac"
NONCE = "the-nonce-of-this-connection"


def prove(key: BrowserKey, **claims: Any) -> str:
    """Make a valid proof, with `claims` changed."""
    return key.prove(token=TOKEN, nonce=NONCE, now=NOW, **{"htu": HTU, **claims})


def check(proof: str, key: BrowserKey, nonce: str | None = NONCE) -> proofs.Proof:
    return proofs.verify(proof, token=TOKEN, jkt=key.jkt, nonce=nonce, htu=HTU, now=NOW)


def refusal_of(proof: str, key: BrowserKey, nonce: str | None = NONCE) -> Refused:
    with pytest.raises(Refused) as refusal:
        check(proof, key, nonce)
    return refusal.value


@pytest.mark.contract("4.9/proof", "5.5/proof-matches", "D-10/proof")
def test_the_proof_of_a_well_behaved_widget_holds(key: BrowserKey) -> None:
    assert check(prove(key), key) == proofs.Proof(jkt=key.jkt, skew=0)


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
    "htu",
    ["ws://chat.example/v1/socket", "https://chat.example/v1/socket", "wss://chat.example:8443/v1/socket"],
)
def test_a_secure_address_is_compared_with_its_default_port_and_no_other(key: BrowserKey, htu: str) -> None:
    same = prove(key, htu="WSS://Chat.Example:443/v1/socket")

    assert check(same, key).jkt == key.jkt
    assert refusal_of(prove(key, htu=htu), key).code is Code.PROOF_HTU


def test_iat_only_measures_how_far_the_clock_is_off(key: BrowserKey) -> None:
    proof = prove(key, iat=int(NOW) + 3600)

    assert check(proof, key).skew == 3600


@pytest.mark.contract("5.5/stolen-token", "7/proof-mismatch")
def test_a_stolen_token_with_the_thiefs_own_key_is_refused(key: BrowserKey) -> None:
    refusal = refusal_of(prove(BrowserKey()), key)

    assert (refusal.code, refusal.member) == (Code.PROOF_KEY_MISMATCH, "jwk")


@pytest.mark.parametrize("nonce", ["the-nonce-of-another-connection", None])
@pytest.mark.contract("4.9/one-time", "D-10/nonce")
def test_a_proof_for_another_connection_or_a_used_nonce_is_refused(key: BrowserKey, nonce: str | None) -> None:
    assert refusal_of(prove(key), key, nonce=nonce).code is Code.PROOF_NONCE


def test_a_signature_of_the_length_of_hex_that_is_no_text_is_refused_without_a_guess(key: BrowserKey) -> None:
    head, payload, _ = prove(key).split(".")

    refusal = refusal_of(f"{head}.{payload}.{encoding.encode(bytes([255]) * 128)}", key)

    assert refusal.code is Code.PROOF_SIGNATURE
    assert refusal.cause is None


@given(st.text(max_size=200) | st.from_regex(r"[\w-]{1,80}\.[\w-]{1,80}\.[\w-]{0,86}", fullmatch=True))
def test_no_text_raises_anything_but_a_refusal(proof: str) -> None:
    with pytest.raises(Refused):
        proofs.verify(proof, token=TOKEN, jkt="x", nonce=NONCE, htu=HTU, now=NOW)


def test_nonces_are_long_and_never_the_same() -> None:
    nonces = {proofs.new_nonce() for _ in range(1000)}

    assert len(nonces) == 1000
    assert min(len(nonce) for nonce in nonces) >= 22


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("ws://localhost:8800/v1/socket", "ws://LOCALHOST:8800/v1/socket"),
        ("wss://[::1]/v1/socket", "wss://[::1]:443/v1/socket"),
    ],
)
def test_addresses_are_compared_without_case_and_default_port(left: str, right: str) -> None:
    assert proofs.same_address(left, right)
    assert not proofs.same_address(left, right + "x")
