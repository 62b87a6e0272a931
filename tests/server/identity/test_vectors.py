"""Tests the server's own code with published vectors that `docs/vectors.json` lacks. Each name contains the section."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from chatkey_server.identity import encoding, keys, proofs

FOLDER = Path(__file__).parents[2] / "vectors"
VECTORS: dict[str, Any] = json.loads((FOLDER / "published.json").read_text())


@pytest.mark.contract("D-04/jkt", "D-04/vectors")
def test_rfc_7638_3_1_thumbprint() -> None:
    vector = VECTORS["RFC 7638 3.1"]

    assert keys.thumbprint(vector["jwk"]) == vector["jkt"]


def test_rfc_9449_5_proof_verifies_with_the_key_it_carries() -> None:
    compact = encoding.split(VECTORS["RFC 9449 5"]["proof"])
    jwk = json.loads(encoding.decode(compact.header))["jwk"]

    assert keys.read_jwk(jwk).verify(compact.signature, compact.signed)


def test_rfc_9449_7_1_access_token_hash() -> None:
    vector = VECTORS["RFC 9449 7.1"]

    assert proofs.access_token_hash(vector["access_token"]) == vector["ath"]


def test_rfc_7515_a_3_signature_verifies_and_a_flipped_bit_does_not() -> None:
    vector = VECTORS["RFC 7515 A.3"]
    compact = encoding.split(vector["jws"])
    key = keys.read_jwk(vector["jwk"])

    assert key.verify(compact.signature, compact.signed)
    assert not key.verify(compact.signature, compact.signed + b"x")
    assert not key.verify(compact.signature[:-1] + bytes([compact.signature[-1] ^ 1]), compact.signed)


def test_rfc_7636_b_challenge() -> None:
    vector = VECTORS["RFC 7636 B"]

    assert encoding.encode(hashlib.sha256(vector["verifier"].encode()).digest()) == vector["challenge"]
