"""Tests of the widget with published test vectors. The server is tested with the same file."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest

from chatkey_widget.keys import PublicKey, base64url
from chatkey_widget.proof import access_token_hash, build, compact

FOLDER = Path(__file__).parents[1] / "vectors"
VECTORS: dict[str, Any] = json.loads((FOLDER / "published.json").read_text())


def octets(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_rfc_7638_3_2_hashes_exactly_the_required_members_in_order() -> None:
    """The hashed members are `crv`, `kty`, `x` and `y`, sorted and without white space.

    The proof's header contains exactly these members.
    """
    key = PublicKey("x" * 43, "y" * 43)

    assert json.dumps(key.jwk, separators=(",", ":")) == (
        f'{{"crv":"P-256","kty":"EC","x":"{"x" * 43}","y":"{"y" * 43}"}}'
    )


@pytest.mark.contract("D-04/vectors")
def test_rfc_9449_7_1_access_token_hash() -> None:
    vector = VECTORS["RFC 9449 7.1"]

    assert access_token_hash(vector["access_token"]) == vector["ath"]


@pytest.mark.parametrize(
    ("raw", "text"),
    [(b"", ""), (b"\x00", "AA"), (b"\xfb\xff", "-_8"), (bytes([3, 236, 255, 224, 193]), "A-z_4ME")],
)
def test_rfc_7515_c_base64url(raw: bytes, text: str) -> None:
    """The alphabet is url-safe, and there is no padding."""
    assert base64url(raw) == text


@pytest.mark.contract("D-04/vectors")
@pytest.mark.parametrize(("section", "member"), [("RFC 9449 5", "proof"), ("RFC 7515 A.3", "jws")])
def test_published_segments_are_spelt_and_put_together_the_same_way(section: str, member: str) -> None:
    """When the widget decodes the published text and encodes the result, the bytes must be the same."""
    header, payload, signature = VECTORS[section][member].split(".")

    assert [base64url(octets(segment)) for segment in (header, payload)] == [header, payload]
    assert compact(f"{header}.{payload}", octets(signature)) == VECTORS[section][member]


def test_a_compact_proof_is_its_signing_input_and_the_raw_signature() -> None:
    """The signed text must be exactly the text that is sent (RFC 7515 7.1)."""
    proof = build(PublicKey("x", "y"), token="a.b.c", nonce="n", htu="wss://h/", jti="j", now=0)

    header, claims, signature = compact(proof.signing_input, bytes(64)).split(".")

    assert f"{header}.{claims}" == proof.signing_input
    assert json.loads(octets(header)) == proof.header
    assert signature == "A" * 86
