"""Tests of the proof that binds the audio of a call to the caller's key."""

from __future__ import annotations

from typing import Any

import pytest

from chatkey_peer.key import BrowserKey
from chatkey_protocol.codes import Code
from chatkey_protocol.names import CALL_PROOF_TYP, PROOF_TYP
from chatkey_server.identity import call_proofs
from chatkey_server.identity.call_proofs import Ends
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.fingerprints import fingerprint_of

NOW = 1_800_000_000
CALL_ID = "5f0c2d1e-0000-4000-8000-000000000001"
CALLER = ":".join(["A1"] * 32)
AGENT = ":".join(["B2"] * 32)
ENDS = Ends(CALLER, AGENT, "the-agents-nonce")
SDP = f"v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=fingerprint:sha-256 {CALLER}\r\na=setup:active\r\n"


@pytest.fixture(scope="module")
def key() -> BrowserKey:
    return BrowserKey()


def made(key: BrowserKey, *, typ: str = CALL_PROOF_TYP, **changed: object) -> str:
    claims: dict[str, Any] = {
        "jti": "1",
        "iat": NOW,
        "call_id": CALL_ID,
        "nonce": "the-agents-nonce",
        "fingerprint": CALLER,
        "peer_fingerprint": AGENT,
    }
    return key.jws({"typ": typ, "alg": "ES256", "jwk": key.jwk}, {**claims, **changed})


def refusal(key: BrowserKey, proof: str, ends: Ends = ENDS) -> tuple[Code, str | None]:
    with pytest.raises(Refused) as refused:
        call_proofs.verify(proof, ends, call_id=CALL_ID, jkt=key.jkt, now=NOW)
    return refused.value.code, refused.value.member


def test_a_proof_over_both_fingerprints_is_accepted(key: BrowserKey) -> None:
    call_proofs.verify(made(key), ENDS, call_id=CALL_ID, jkt=key.jkt, now=NOW)


@pytest.mark.parametrize(
    ("changed", "code", "member"),
    [
        ({"call_id": "5f0c2d1e-0000-4000-8000-000000000002"}, Code.PROOF_CALL, "call_id"),
        ({"nonce": "an-older-nonce"}, Code.PROOF_NONCE, "nonce"),
        ({"fingerprint": AGENT}, Code.PROOF_FINGERPRINT, "fingerprint"),
        ({"peer_fingerprint": CALLER}, Code.PROOF_FINGERPRINT, "peer_fingerprint"),
        ({"peer_fingerprint": ""}, Code.PROOF_CLAIMS, "peer_fingerprint"),
        ({"exp": NOW - 1}, Code.PROOF_CLAIMS, "exp"),
    ],
)
def test_a_proof_for_something_else_is_refused(
    key: BrowserKey, changed: dict[str, Any], code: Code, member: str
) -> None:
    assert refusal(key, made(key, **changed)) == (code, member)


def test_a_proof_without_an_open_offer_is_a_replay(key: BrowserKey) -> None:
    assert refusal(key, made(key), Ends(CALLER, AGENT, None)) == (Code.PROOF_NONCE, "nonce")


def test_a_proof_by_another_key_is_refused(key: BrowserKey) -> None:
    assert refusal(key, made(BrowserKey())) == (Code.PROOF_KEY_MISMATCH, "jwk")


def test_the_proof_that_opens_a_socket_is_no_proof_of_a_call(key: BrowserKey) -> None:
    assert refusal(key, made(key, typ=PROOF_TYP)) == (Code.PROOF_TYP, "typ")


def test_a_changed_payload_is_refused(key: BrowserKey) -> None:
    header, _, signature = made(key).split(".")
    payload = made(key, fingerprint=AGENT).split(".")[1]

    assert refusal(key, f"{header}.{payload}.{signature}") == (Code.PROOF_SIGNATURE, "signature")


@pytest.mark.parametrize("repeated", [1, 2])
def test_the_fingerprint_of_a_description_is_read(repeated: int) -> None:
    line = f"a=fingerprint:SHA-256 {CALLER.lower()}\r\n"

    assert fingerprint_of(f"v=0\r\n{line * (repeated - 1)}m=audio 9 x 0\r\n{line}") == CALLER


@pytest.mark.parametrize(
    "sdp",
    [
        SDP.replace("sha-256", "sha-1"),
        SDP.replace("a=fingerprint", "a=other"),
        SDP.replace("a=fingerprint", " a=fingerprint"),
        SDP.replace("A1:", "", 1),
        f"{SDP}a=fingerprint:sha-256 {AGENT}\r\n",
        f"{SDP}a=fingerprint:sha-512 {CALLER}:{CALLER}\r\n",
        f"{SDP}A=Fingerprint:sha-256 {AGENT}\r\n",
        f"{SDP}a=x:1\ra=fingerprint:sha-256 {AGENT}\r\n",
    ],
    ids=["sha-1", "none", "indented", "short", "two", "two hashes", "other case", "after a bare CR"],
)
def test_a_description_without_exactly_one_fingerprint_is_refused(sdp: str) -> None:
    with pytest.raises(Refused) as refused:
        fingerprint_of(sdp)

    assert (refused.value.code, refused.value.member) == (Code.PROOF_FINGERPRINT, "sdp")


@pytest.mark.parametrize(
    "sdp",
    [SDP.replace("m=audio", "m=video"), f"{SDP}m=video 9 x 0\r\n", f"{SDP}M=audio 9 x 0\r\n", SDP.replace("m=", "x=")],
)
def test_a_description_of_anything_but_audio_is_refused(sdp: str) -> None:
    with pytest.raises(Refused) as refused:
        fingerprint_of(sdp)

    assert (refused.value.code, refused.value.member) == (Code.PARAMETER_INVALID, "sdp")
