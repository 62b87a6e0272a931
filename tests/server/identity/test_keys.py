"""Tests of keys as browsers export them. The table of invalid keys is `chatkey_conform.making.wrong_keys`."""

import hashlib
from base64 import urlsafe_b64decode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkey_peer.key import BrowserKey
from chatkey_server.identity import encoding, keys
from chatkey_server.identity.errors import Refused

Json = dict[str, Any]
PRIME = 2**256 - 2**224 + 2**192 + 2**96 - 1


def test_a_jwk_exported_by_a_browser_is_read(key: BrowserKey) -> None:
    exported = {**key.jwk, "ext": True, "key_ops": ["verify"], "use": "sig", "alg": "ES256", "kid": "mine"}

    assert keys.read_jwk(exported).jkt == keys.read_jwk(key.jwk).jkt


@given(
    st.dictionaries(
        st.sampled_from(["kty", "crv", "x", "y", "d", "use", "key_ops"]), st.text() | st.integers() | st.none()
    )
)
def test_no_jwk_raises_anything_but_a_refusal(jwk: Json) -> None:
    with pytest.raises(Refused):
        keys.read_jwk(jwk)


def test_the_thumbprint_is_made_of_the_four_members_in_their_order(key: BrowserKey) -> None:
    text = f'{{"crv":"P-256","kty":"EC","x":"{key.jwk["x"]}","y":"{key.jwk["y"]}"}}'

    assert keys.read_jwk(key.jwk).jkt == encoding.encode(hashlib.sha256(text.encode()).digest())


def test_the_mirrored_point_is_another_key(key: BrowserKey) -> None:
    numbers = key.private.public_key().public_numbers()
    mirrored = encoding.encode((PRIME - numbers.y).to_bytes(32, "big"))

    assert keys.read_jwk({**key.jwk, "y": mirrored}).jkt != keys.read_jwk(key.jwk).jkt


@pytest.mark.contract("2.3/uid-derived", "D-04/uid")
def test_the_visitor_uid_is_v_and_the_thumbprint(key: BrowserKey) -> None:
    jkt = keys.read_jwk(key.jwk).jkt

    assert keys.visitor_uid(jkt) == f"v_{jkt}"
    assert keys.jkt_of_visitor(f"v_{jkt}") == jkt
    assert len(urlsafe_b64decode(jkt + "=")) == 32


@pytest.mark.parametrize(
    "uid",
    [
        "",
        "v_",
        "v_x",
        "V_" + "A" * 43,
        "A" * 43,
        "v_" + "A" * 44,
        "v_" + "A" * 42,
        "v_" + "A" * 42 + "B",
        "v_" + "é" * 43,
    ],
)
def test_a_uid_of_another_shape_has_no_thumbprint(uid: str) -> None:
    assert keys.jkt_of_visitor(uid) is None
