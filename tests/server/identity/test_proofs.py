"""Proofs made by PyJWT with a real key; each way to be wrong is refused with its own code."""

import json
from collections.abc import Callable
from typing import Any, Protocol

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from hypothesis import given
from hypothesis import strategies as st

from chatkey_protocol.codes import Code
from chatkey_server.identity import encoding, proofs
from chatkey_server.identity.errors import Refused

NOW = 1_795_000_020.0
HTU = "wss://chat.example/v1/socket"
TOKEN = "head.payload.mac"
NONCE = "the-nonce-of-this-connection"

Json = dict[str, Any]


class Key(Protocol):
    @property
    def jwk(self) -> Json: ...
    @property
    def jkt(self) -> str: ...
    @property
    def private(self) -> ec.EllipticCurvePrivateKey: ...
    def proof(self, token: str, *, nonce: str, header: Json | None = None, claims: Json | None = None) -> str: ...


def check(proof: str, key: Key, *, nonce: str | None = NONCE, token: str = TOKEN, htu: str = HTU) -> proofs.Proof:
    return proofs.verify(proof, token=token, jkt=key.jkt, nonce=nonce, htu=htu, now=NOW)


def refusal_of(proof: str, key: Key, **expected: Any) -> Refused:
    with pytest.raises(Refused) as refusal:
        check(proof, key, **expected)
    return refusal.value


@pytest.mark.contract("4.9/proof", "5.5/proof-matches", "D-10/proof")
def test_the_proof_of_a_well_behaved_widget_holds(key: Key) -> None:
    assert check(key.proof(TOKEN, nonce=NONCE), key) == proofs.Proof(jkt=key.jkt, skew=0)


@pytest.mark.parametrize(
    ("header", "claims", "code"),
    [
        ({"typ": "JWT"}, {}, Code.PROOF_TYP),
        ({"typ": "dpop+jwt"}, {}, Code.PROOF_TYP),
        ({"jwk": None}, {}, Code.PROOF_JWK),
        ({"jwk": "text"}, {}, Code.PROOF_JWK),
        ({"crit": ["x"], "x": 1}, {}, Code.PROOF_MALFORMED),
        ({}, {"jti": None}, Code.PROOF_CLAIMS),
        ({}, {"jti": ""}, Code.PROOF_CLAIMS),
        ({}, {"jti": "j" * 257}, Code.PROOF_CLAIMS),
        ({}, {"iat": None}, Code.PROOF_CLAIMS),
        ({}, {"iat": "1"}, Code.PROOF_CLAIMS),
        ({}, {"iat": 1.5}, Code.PROOF_CLAIMS),
        ({}, {"iat": int(NOW) * 1000}, Code.PROOF_CLAIMS),
        ({}, {"exp": int(NOW)}, Code.PROOF_CLAIMS),
        ({}, {"nbf": int(NOW) + 61}, Code.PROOF_CLAIMS),
        ({}, {"htm": None}, Code.PROOF_HTM),
        ({}, {"htm": "get"}, Code.PROOF_HTM),
        ({}, {"htm": "POST"}, Code.PROOF_HTM),
        ({}, {"htu": None}, Code.PROOF_HTU),
        ({}, {"htu": "/v1/socket"}, Code.PROOF_HTU),
        ({}, {"htu": "https://chat.example/v1/socket"}, Code.PROOF_HTU),
        ({}, {"htu": "ws://chat.example/v1/socket"}, Code.PROOF_HTU),
        ({}, {"htu": "wss://other.example/v1/socket"}, Code.PROOF_HTU),
        ({}, {"htu": "wss://chat.example:8443/v1/socket"}, Code.PROOF_HTU),
        ({}, {"htu": "wss://chat.example/v1/socket/"}, Code.PROOF_HTU),
        ({}, {"htu": "wss://chat.example/v1/sock"}, Code.PROOF_HTU),
        ({}, {"htu": "wss://chat.example/v1/../v1/socket"}, Code.PROOF_HTU),
        ({}, {"htu": "wss://a@chat.example/v1/socket"}, Code.PROOF_HTU),
        ({}, {"htu": "wss://evil.example\\@chat.example/v1/socket"}, Code.PROOF_HTU),
        ({}, {"nonce": None}, Code.PROOF_NONCE),
        ({}, {"nonce": ""}, Code.PROOF_NONCE),
        ({}, {"nonce": NONCE.upper()}, Code.PROOF_NONCE),
        ({}, {"nonce": NONCE + "="}, Code.PROOF_NONCE),
        ({}, {"nonce": 5}, Code.PROOF_NONCE),
        ({}, {"nonce": "é"}, Code.PROOF_NONCE),
        ({}, {"ath": None}, Code.PROOF_ATH),
        ({}, {"ath": ""}, Code.PROOF_ATH),
        ({}, {"ath": proofs.access_token_hash(TOKEN) + "="}, Code.PROOF_ATH),
        ({}, {"ath": proofs.access_token_hash(TOKEN + "\n")}, Code.PROOF_ATH),
        ({}, {"ath": proofs.access_token_hash("head.payload")}, Code.PROOF_ATH),
    ],
)
@pytest.mark.contract("D-10/checks")
def test_a_proof_wrong_in_one_thing_is_refused_for_that(key: Key, header: Json, claims: Json, code: Code) -> None:
    refusal = refusal_of(key.proof(TOKEN, nonce=NONCE, header=header, claims=claims), key)

    assert refusal.code is code


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        ({"extra": True}, {"extra": {"deep": [1]}}),
        ({}, {"htu": "WSS://Chat.Example:443/v1/socket"}),
        ({}, {"htu": HTU + "?x=1#y"}),
        ({}, {"iat": int(NOW) - 3600}),
        ({}, {"iat": int(NOW) + 3600}),
        ({}, {"exp": int(NOW) + 60, "nbf": int(NOW)}),
        ({}, {"jti": "j" * 256}),
    ],
)
def test_a_proof_that_is_only_unusual_holds(key: Key, header: Json, claims: Json) -> None:
    assert check(key.proof(TOKEN, nonce=NONCE, header=header, claims=claims), key).jkt == key.jkt


def test_iat_only_measures_how_far_the_clock_is_off(key: Key) -> None:
    proof = key.proof(TOKEN, nonce=NONCE, claims={"iat": int(NOW) + 3600})

    assert check(proof, key).skew == 3600


@pytest.mark.contract("5.5/stolen-token", "7/proof-mismatch")
def test_a_stolen_token_with_the_thiefs_own_key_is_refused(key: Key, make_key: Callable[[], Key]) -> None:
    thief = make_key()

    refusal = refusal_of(thief.proof(TOKEN, nonce=NONCE), key)

    assert (refusal.code, refusal.member) == (Code.PROOF_KEY_MISMATCH, "jwk")


@pytest.mark.parametrize("nonce", ["the-nonce-of-another-connection", None])
@pytest.mark.contract("4.9/one-time", "D-10/nonce")
def test_a_proof_for_another_connection_or_a_used_nonce_is_refused(key: Key, nonce: str | None) -> None:
    assert refusal_of(key.proof(TOKEN, nonce=NONCE), key, nonce=nonce).code is Code.PROOF_NONCE


@pytest.mark.parametrize(("curve", "algorithm"), [(ec.SECP384R1(), "ES384"), (ec.SECP521R1(), "ES512")])
def test_a_valid_signature_on_another_curve_is_refused(key: Key, curve: ec.EllipticCurve, algorithm: str) -> None:
    other = ec.generate_private_key(curve)
    proof = jwt.encode({}, other, algorithm=algorithm, headers={"typ": "wf-proof+jwt", "jwk": key.jwk})

    assert refusal_of(proof, key).code is Code.PROOF_ALG


@pytest.mark.parametrize("algorithm", ["none", "HS256", "ES256K", None, ["ES256"]])
def test_no_other_algorithm_is_taken(key: Key, algorithm: object) -> None:
    header = encoding.encode(json.dumps({"typ": "wf-proof+jwt", "alg": algorithm, "jwk": key.jwk}).encode())

    assert refusal_of(f"{header}.e30.AAAA", key).code is Code.PROOF_ALG


@pytest.mark.parametrize("cut", [0, 1, 63])
def test_a_signature_of_another_length_is_refused(key: Key, cut: int) -> None:
    head, payload, signature = key.proof(TOKEN, nonce=NONCE).split(".")
    short = encoding.encode(encoding.decode(signature)[:cut])

    assert refusal_of(f"{head}.{payload}.{short}", key).code is Code.PROOF_SIGNATURE


def test_a_der_signature_is_refused_and_named(key: Key) -> None:
    head, payload, _ = key.proof(TOKEN, nonce=NONCE).split(".")
    der = encoding.encode(key.private.sign(f"{head}.{payload}".encode(), ec.ECDSA(SHA256())))

    refusal = refusal_of(f"{head}.{payload}.{der}", key)

    assert refusal.code is Code.PROOF_SIGNATURE
    assert "DER" in (refusal.cause or "")


@pytest.mark.parametrize("part", [0, 1])
def test_another_header_or_payload_under_the_signature_is_refused(key: Key, part: int) -> None:
    mine = key.proof(TOKEN, nonce=NONCE).split(".")
    other = key.proof(TOKEN, nonce=NONCE, header={"x": 1}, claims={"x": 1}).split(".")
    mine[part] = other[part]

    assert refusal_of(".".join(mine), key).code is Code.PROOF_SIGNATURE


@pytest.mark.parametrize("proof", ["", "a.b", "a.b.c.d", "{}", "x" * 5000, TOKEN, "e30.e30.AA\n"])
def test_what_is_not_a_compact_jws_is_refused(key: Key, proof: str) -> None:
    assert refusal_of(proof, key).code in {Code.PROOF_MALFORMED, Code.PROOF_TYP}


def test_a_repeated_member_in_the_jwk_is_refused(key: Key) -> None:
    jwk = json.dumps(key.jwk)
    header = '{"typ":"wf-proof+jwt","alg":"ES256","jwk":' + jwk[:-1] + ',"x":"AA"}}'

    assert refusal_of(f"{encoding.encode(header.encode())}.e30.AAAA", key).code is Code.PROOF_MALFORMED


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
