"""Keys as JWK, every class of mistake: only a public P-256 point in its one spelling is read."""

from __future__ import annotations

import hashlib
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from chatkey_protocol.codes import Code
from chatkey_server.identity import keys
from chatkey_server.identity.errors import Refused

Json = dict[str, Any]
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
KEY = ec.derive_private_key(0xC0FFEE, ec.SECP256R1()).public_key().public_numbers()
JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**400, "", " ", "\0", "=", "é", "\ud800", "🦊", b"", [], ["EC"], {}, {"kty": "EC"},
)  # fmt: skip
PRIVATE = ("d", "p", "q", "dp", "dq", "qi", "oth", "k")
PURPOSES: dict[str, tuple[object, ...]] = {
    "use": ("enc", "SIG", "", None, ["sig"], 1),
    "key_ops": (["sign"], [], ["VERIFY"], "verify", None, {"verify": 1}, 1, ["encrypt", "wrapKey"]),
    "alg": ("HS256", "ES384", "ES256K", "es256", "none", "ECDH-ES", None, ["ES256"], 256),
}
LEGENDRE = (P - 1) // 2


def b64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def number(value: int, size: int = 32) -> str:
    return b64(value.to_bytes(size, "big"))


def jwk(**changes: Any) -> Json:
    return {"kty": "EC", "crv": "P-256", "x": number(KEY.x), "y": number(KEY.y), **changes}


def without(*members: str) -> Json:
    return {name: value for name, value in jwk().items() if name not in members}


def is_square(value: int) -> bool:
    return pow(value % P, LEGENDRE, P) in {0, 1}


def root(square: int) -> int:
    return pow(square % P, (P + 1) // 4, P)


def small_x() -> int:
    return next(x for x in range(1, 100) if is_square(x**3 - 3 * x + B))


def on_another_curve(curve: ec.EllipticCurve) -> Json:
    other = ec.derive_private_key(7, curve).public_key().public_numbers()
    size = (curve.key_size + 7) // 8
    return {"x": number(other.x, size), "y": number(other.y, size)}


def bad_points() -> Iterator[tuple[str, Json]]:
    """Coordinates that are no point of the curve, or one in a second spelling (RFC 8725 3.4)."""
    x = small_x()
    y = root(x**3 - 3 * x + B)
    yield "zeros", {"x": number(0), "y": number(0)}
    yield "y-is-zero", {"y": number(0)}
    yield "y-plus-1", {"y": number(KEY.y + 1)}
    yield "swapped", {"x": number(KEY.y), "y": number(KEY.x)}
    yield "x-plus-p", {"x": number(x + P), "y": number(y)}
    yield "x-is-p", {"x": number(P), "y": number(root(B))}
    yield "y-is-p", {"y": number(P)}
    yield "ones", {"x": number(2**256 - 1), "y": number(2**256 - 1)}
    twisted = next(x for x in range(1, 100) if not is_square(x**3 - 3 * x + B))
    yield "on-the-twist", {"x": number(twisted), "y": number(root(-(twisted**3 - 3 * twisted + B)))}
    yield "other-b", {"x": number(5), "y": number(next(y for y in range(2, 99) if (y * y - 110 - B) % P))}
    for curve in (ec.SECP256K1(), ec.BrainpoolP256R1(), ec.SECP224R1(), ec.SECP384R1(), ec.SECP521R1()):
        yield f"on-{curve.name}", on_another_curve(curve)
        yield f"called-{curve.name}", {**on_another_curve(curve), "crv": curve.name}


def bad_spellings(member: str) -> Iterator[tuple[str, Json]]:
    """One coordinate, written otherwise (RFC 7518 6.2.1.2, RFC 7515 2)."""
    good: str = jwk()[member]
    raw = getattr(KEY, member).to_bytes(32, "big")
    yield "padded", {member: good + "="}
    yield "padded-twice", {member: good + "=="}
    yield "space-in-front", {member: " " + good}
    yield "newline-behind", {member: good + "\n"}
    yield "newline-within", {member: good[:20] + "\n" + good[20:]}
    yield "nul-behind", {member: good + "\0"}
    yield "not-canonical", {member: good[:-1] + chr(ord(good[-1]) + 1)}
    yield "one-letter-less", {member: good[:-1]}
    yield "one-letter-more", {member: good + "A"}
    yield "31-bytes", {member: b64(raw[1:])}
    yield "33-bytes", {member: b64(b"\0" + raw)}
    yield "64-bytes", {member: b64(raw + raw)}
    yield "hex", {member: raw.hex()}
    yield "decimal", {member: str(int.from_bytes(raw))}
    yield "base64", {member: b64encode(b"\xfb\xff" + raw[2:]).decode().rstrip("=")}
    yield "percent", {member: "%41" + good[1:]}
    yield "full-width", {member: chr(0xFF21) + good[1:]}
    yield "megabyte", {member: "A" * 1_000_000}
    yield "uncompressed-point", {member: b64(b"\x04" + raw + raw)}


def bad_kinds() -> Iterator[tuple[str, Json]]:
    """Another kind of key, a private one, or one for another purpose."""
    for value in ("ec", "EC ", "RSA", "oct", "OKP", "EC\0"):
        yield f"kty-{value!a}", {"kty": value}
    for value in (
        "p-256",
        "P256",
        "P-256 ",
        "secp256r1",
        "prime256v1",
        "P-384",
        "P-521",
        "secp256k1",
        "Ed25519",
        "P-256K",
    ):
        yield f"crv-{value}", {"crv": value}
    for member in PRIVATE:
        yield f"private-{member}", {member: number(1)}
        yield f"private-{member}-null", {member: None}
    for member, values in PURPOSES.items():
        for purpose in values:
            yield f"{member}-{purpose!a}", {member: purpose}


CASES = {
    **dict(bad_points()),
    **{f"{member}-{name}": changes for member in ("x", "y") for name, changes in bad_spellings(member)},
    **dict(bad_kinds()),
    **{f"{member}-junk-{at}": {member: value} for member in ("kty", "crv", "x", "y") for at, value in enumerate(JUNK)},
}


@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_whatever_is_not_one_public_p256_key_is_refused_as_that(changes: Json) -> None:
    assert keys.read_jwk(jwk()).jkt
    with pytest.raises(Refused) as refused:
        keys.read_jwk(jwk(**changes))

    assert refused.value.code is Code.PROOF_JWK
    assert refused.value.member in {f"jwk.{name}" for name in (*changes, "x", "y")}


@pytest.mark.parametrize("missing", [("kty",), ("crv",), ("x",), ("y",), ("x", "y"), ("kty", "crv", "x", "y")])
def test_a_key_with_a_member_missing_is_refused(missing: tuple[str, ...]) -> None:
    with pytest.raises(Refused) as refused:
        keys.read_jwk(without(*missing))

    assert (refused.value.code, refused.value.member) == (Code.PROOF_JWK, f"jwk.{missing[0]}")


@pytest.mark.parametrize(
    "more",
    [
        {"use": "sig", "alg": "ES256", "key_ops": ["verify"], "ext": True, "kid": "a"},
        {"key_ops": ["sign", "verify"]},
        {"ext": False},
        {"x5c": [], "x5t": "", "x5u": "https://evil.example", "kid": {}, "iat": 1, "": None},
        {"D": number(1), "n": "AQAB", "e": "AQAB"},
    ],
)
def test_what_else_stands_beside_a_key_does_not_change_its_thumbprint(more: Json) -> None:
    assert keys.read_jwk({**more, **jwk()}).jkt == keys.read_jwk(jwk(**more)).jkt == keys.read_jwk(jwk()).jkt


def test_the_thumbprint_is_made_of_the_four_members_in_their_order() -> None:
    x, y = jwk()["x"], jwk()["y"]
    text = f'{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}'

    assert keys.read_jwk(jwk()).jkt == b64(hashlib.sha256(text.encode()).digest())


def test_the_mirrored_point_is_another_key() -> None:
    mirrored = keys.read_jwk(jwk(y=number(P - KEY.y)))

    assert mirrored.jkt != keys.read_jwk(jwk()).jkt
