"""Invalid JWKs: not public, not a point on P-256, or not in canonical encoding (RFC 7517, 7518 6.2, 8725 3.4).

Each row changes a valid key, and may reuse the values of that key. The table of proofs has a proof with each key.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec

from chatkey_peer.key import REMOVED, Json, b64, unb64

P: Final = 2**256 - 2**224 + 2**192 + 2**96 - 1
N: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B: Final = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B


@dataclass(frozen=True)
class WrongKey:
    """The changes to a valid key, the member that is refused, and text in the cause.

    The text is None without a cause.
    """

    id: str
    member: str
    changes: Json = field(hash=False)
    cause: str | None = None


def coordinate(value: int, size: int = 32) -> str:
    """Return a coordinate as base64url."""
    return b64(value.to_bytes(size, "big"))


def next_letter(text: str) -> str:
    """In the last character, change a bit that base64url ignores. The decoded bytes stay the same."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return text[:-1] + letters[letters.index(text[-1]) + 1]


# another kind of key


def _kinds() -> Iterator[WrongKey]:
    tables: dict[str, dict[str, tuple[Any, ...]]] = {
        "kty": {"PRF-020": (REMOVED, "ec", "EC ", "EC\0", "RSA", "oct", "OKP", *JUNK)},
        "crv": {"PRF-021": (REMOVED, *CURVES, *JUNK)},
        "use": {"PRF-019-use": ("enc", "SIG", "", None, ["sig"], 1)},
        "key_ops": {"PRF-019-key-ops": (["sign"], [], ["VERIFY"], "verify", None, {"verify": 1}, 1, ["encrypt"])},
        "alg": {"PRF-019-alg": ("HS256", "ES384", "ES256K", "es256", "none", "ECDH-ES", None, ["ES256"], 256)},
        "d": {"PRF-016": (coordinate(1), "", None)},
    }
    for member, rows in tables.items():
        for row, values in rows.items():
            for at, value in enumerate(values):
                yield WrongKey(f"{row}-{at}", member, {member: value})
    for member in ("p", "q", "dp", "dq", "qi", "oth", "k"):
        yield WrongKey(f"PRF-017-{member}", member, {member: "AQ"})
        yield WrongKey(f"PRF-017-{member}-null", member, {member: None})
    yield WrongKey("PRF-017-rsa", "p", {"kty": "RSA", "n": "AQAB", "e": "AQAB", "p": "AQ", "q": "AQ"})


JUNK: Final[tuple[object, ...]] = (None, True, 0, 1.5, "", " ", "\0", "é", [], ["EC"], {}, {"kty": "EC"})
CURVES: Final = (
    *("p-256", "P256", "P-256 ", "P-256K", "secp256r1", "prime256v1"),
    *("P-384", "P-521", "secp256k1", "Ed25519"),
)


# points that are not on the curve


def _points() -> Iterator[WrongKey]:
    x, y = point()
    for name, member, px, py in (
        ("PRF-022", "x", x, y + 1),
        ("PRF-022-swapped", "x", y, x),
        ("PRF-022-y-is-zero", "x", x, 0),
        ("PRF-022-on-the-twist", "x", *point(-1)),
        ("PRF-023-zeros", "x", 0, 0),
        ("PRF-023-x-plus-p", "x", x + P, y),
        ("PRF-023-x-is-p", "x", P, pow(B, (P + 1) // 4, P)),
        ("PRF-023-y-is-p", "y", x, P),
        ("PRF-023-ones", "x", 2**256 - 1, 2**256 - 1),
        ("PRF-023-all-ones", "y", x, 2**256 - 1),
    ):
        yield WrongKey(name, member, {"x": coordinate(px), "y": coordinate(py)})
    for curve in (ec.SECP256K1(), ec.BrainpoolP256R1(), ec.SECP224R1(), ec.SECP384R1(), ec.SECP521R1()):
        yield WrongKey(f"PRF-012-on-{curve.name}", "x", on_another(curve))
        yield WrongKey(f"PRF-012-called-{curve.name}", "crv", {**on_another(curve), "crv": curve.name})


def point(sign: int = 1) -> tuple[int, int]:
    """Return a point whose x is so small that x + p fits into 32 bytes. With sign -1, the point is on the twist."""
    for x in range(1, 100):
        square = sign * (x**3 - 3 * x + B)
        y = pow(square, (P + 1) // 4, P)
        if (y * y - square) % P == 0:
            return x, y
    raise AssertionError("there is one")


def on_another(curve: ec.EllipticCurve) -> Json:
    """Return the coordinates of a point on another curve."""
    numbers = ec.derive_private_key(7, curve).public_key().public_numbers()
    size = (curve.key_size + 7) // 8
    return {"x": coordinate(numbers.x, size), "y": coordinate(numbers.y, size)}


# a coordinate in another spelling


def _spellings() -> Iterator[WrongKey]:
    for member in ("x", "y"):
        padded, loose = f"{member} is not base64url without padding", f"{member} is not canonical base64url"
        for name, spell, cause in (
            ("PRF-025", lambda text: text + "=", padded),
            ("PRF-025-twice", lambda text: text + "==", padded),
            ("PRF-025-base64", lambda text: f"{text[:20]}+{text[21:]}", padded),
            ("PRF-025-standard", lambda text: b64encode(b"\xfb\xff" + unb64(text)[2:]).decode().rstrip("="), padded),
            ("PRF-025-percent", lambda text: "%41" + text[1:], padded),
            ("PRF-025-full-width", lambda text: "\uff21" + text[1:], padded),
            ("PRF-027", next_letter, loose),
            ("PRF-028-space", lambda text: f" {text}", padded),
            ("PRF-028-newline", lambda text: f"{text}\n", padded),
            ("PRF-028-newline-within", lambda text: f"{text[:20]}\n{text[20:]}", padded),
            ("PRF-028-nul", lambda text: f"{text}\0", padded),
            ("PRF-024-letter-more", lambda text: text + "A", None),
            ("PRF-024-31-bytes", lambda text: b64(unb64(text)[1:]), None),
            ("PRF-024-33-bytes", lambda text: b64(b"\0" + unb64(text)), None),
            ("PRF-024-64-bytes", lambda text: b64(unb64(text) * 2), None),
            ("PRF-024-uncompressed-point", lambda text: b64(b"\x04" + unb64(text) * 2), None),
            ("PRF-024-hex", lambda text: unb64(text).hex(), None),
            ("PRF-024-2000-letters", lambda _: "A" * 2000, None),
        ):
            yield WrongKey(f"{name}-{member}", member, {member: Spelled(spell)}, cause)
        for at, value in enumerate((REMOVED, None, True, 5, 1.5, [], {}, "")):
            yield WrongKey(f"PRF-028-{member}-{at}", member, {member: value})


@dataclass(frozen=True)
class Spelled:
    """Stands for the valid value of a member after `spell` has changed it."""

    spell: Callable[[str], str]


KEYS: Final = (*_kinds(), *_points(), *_spellings())
