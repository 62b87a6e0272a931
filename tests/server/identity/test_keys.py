from base64 import urlsafe_b64decode
from collections.abc import Callable
from typing import Any, Protocol

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from hypothesis import given
from hypothesis import strategies as st

from chatkey_protocol.codes import Code
from chatkey_server.identity import encoding, keys
from chatkey_server.identity.errors import Refused

Json = dict[str, Any]


class Key(Protocol):
    @property
    def jwk(self) -> Json: ...
    @property
    def private(self) -> ec.EllipticCurvePrivateKey: ...


def test_what_a_browser_exports_is_read(key: Key) -> None:
    exported = {**key.jwk, "ext": True, "key_ops": ["verify"], "use": "sig", "alg": "ES256", "kid": "mine"}

    assert keys.read_jwk(exported).jkt == keys.read_jwk(key.jwk).jkt


@pytest.mark.parametrize(
    ("change", "member"),
    [
        ({"d": "AQ"}, "jwk.d"),
        ({"k": "AQ"}, "jwk.k"),
        ({"p": "AQ", "q": "AQ"}, "jwk.p"),
        ({"kty": "ec"}, "jwk.kty"),
        ({"kty": None}, "jwk.kty"),
        ({"crv": "P-384"}, "jwk.crv"),
        ({"crv": "secp256r1"}, "jwk.crv"),
        ({"use": "enc"}, "jwk.use"),
        ({"alg": "HS256"}, "jwk.alg"),
        ({"key_ops": ["sign"]}, "jwk.key_ops"),
        ({"key_ops": "verify!"}, "jwk.key_ops"),
        ({"x": 5}, "jwk.x"),
        ({"y": None}, "jwk.y"),
        ({"x": "AA"}, "jwk.x"),
        ({"x": "A" * 44}, "jwk.x"),
        ({"x": "A" * 43, "y": "A" * 43}, "jwk.x"),
        ({"x": "_" * 42 + "8"}, "jwk.x"),
    ],
)
def test_a_jwk_that_is_not_one_public_p_256_key_is_refused(key: Key, change: Json, member: str) -> None:
    with pytest.raises(Refused) as refusal:
        keys.read_jwk({**key.jwk, **change})

    assert (refusal.value.code, refusal.value.member) == (Code.PROOF_JWK, member)


@pytest.mark.contract("D-04/one-spelling")
@pytest.mark.parametrize(
    "spelling",
    [
        lambda x: x + "=",
        lambda x: x[:-1] + chr(ord(x[-1]) + 1),
        lambda x: x + "\n",
        lambda x: encoding.encode(b"\0" + encoding.decode(x)),
    ],
)
def test_a_second_spelling_of_a_coordinate_is_refused_so_that_one_key_has_one_uid(
    key: Key, spelling: Callable[[str], str]
) -> None:
    jwk = key.jwk

    with pytest.raises(Refused) as refusal:
        keys.read_jwk({**jwk, "x": spelling(jwk["x"])})

    assert refusal.value.code is Code.PROOF_JWK


def test_a_signature_counts_only_as_raw_r_and_s(key: Key) -> None:
    public = keys.read_jwk(key.jwk)
    der = key.private.sign(b"signed", ec.ECDSA(SHA256()))
    zeros = bytes(64)

    r, s = decode_dss_signature(der)
    padded = r.to_bytes(32, "big") + s.to_bytes(33, "big")

    assert public.verify(r.to_bytes(32, "big") + s.to_bytes(32, "big"), b"signed")
    assert not public.verify(padded, b"signed")
    assert not public.verify(der, b"signed")
    assert not public.verify(zeros, b"signed")
    assert not public.verify(b"", b"signed")


@given(
    st.dictionaries(
        st.sampled_from(["kty", "crv", "x", "y", "d", "use", "key_ops"]), st.text() | st.integers() | st.none()
    )
)
def test_no_jwk_raises_anything_but_a_refusal(jwk: Json) -> None:
    with pytest.raises(Refused):
        keys.read_jwk(jwk)


@pytest.mark.contract("2.3/uid-derived", "D-04/uid")
def test_the_visitor_uid_is_v_and_the_thumbprint(key: Key) -> None:
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
