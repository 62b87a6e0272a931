"""Judges proofs (contract 4.9, 5.5, D-10) without using the server's code, down to the curve's arithmetic."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from typing import Any, Final, NamedTuple, TypeGuard

from tests.server.properties.kit.strict_json import NotStrict, is_text, read_base64url, read_compact, read_object
from tests.server.properties.kit.strict_tokens import Judgement

# FIPS 186-5, D.1.2.3
P: Final = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
N: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B: Final = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G: Final = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
SPECIFIC: Final = {"htm": "proof_htm", "htu": "proof_htu", "ath": "proof_ath", "nonce": "proof_nonce"}

Point = tuple[int, int] | None


class Demand(NamedTuple):
    """The values that a proof must match."""

    token: str
    jkt: str
    nonce: str | None
    htu: str
    now: float


def judge(proof: str, demand: Demand) -> Judgement:
    """Judge a proof, and return the codes of all its faults."""
    if len(proof) > 4096:
        return Judgement({"proof_malformed"})
    try:
        header, payload, signature, signed = read_compact(proof)
    except NotStrict:
        return Judgement({"proof_malformed", *_faults_seen_through_damage(proof)})
    found = Judgement(_header_faults(header))
    point = _public_key(header.get("jwk"))
    if point is None:
        found.faults.add("proof_jwk")
    elif not verifies(point, signature, signed):
        found.faults.add("proof_signature")
    if point is not None and thumbprint(header["jwk"]) != demand.jkt:
        found.faults.add("proof_key_mismatch")
    try:
        claims = read_object(payload)
    except NotStrict:
        found.faults.add("proof_malformed")
        return found
    found.faults |= _claim_faults(claims, demand)
    return found


def thumbprint(jwk: dict[str, Any]) -> str:
    """Return the RFC 7638 thumbprint of an EC key."""
    members = json.dumps({name: jwk[name] for name in ("crv", "kty", "x", "y")}, separators=(",", ":"))
    return urlsafe_b64encode(hashlib.sha256(members.encode()).digest()).rstrip(b"=").decode()


def verifies(point: tuple[int, int], signature: bytes, signed: bytes) -> bool:
    """Verify an ECDSA signature, raw r and s, on P-256 with SHA-256 (FIPS 186-5, 6.4.2)."""
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:])
    if len(signature) != 64 or not (0 < r < N and 0 < s < N):
        return False
    inverse = pow(s, -1, N)
    digest = int.from_bytes(hashlib.sha256(signed).digest())
    sum_ = _plus(_times(digest * inverse % N, G), _times(r * inverse % N, point))
    return sum_ is not None and sum_[0] % N == r


def _faults_seen_through_damage(proof: str) -> set[str]:
    """Return the header's faults in a proof that cannot be read completely.

    A reader that judges the header first may report one of these.
    """
    try:
        header = read_object(read_base64url(proof.split(".", maxsplit=1)[0]))
    except NotStrict:
        return set()
    return _header_faults(header) | (set() if _public_key(header.get("jwk")) else {"proof_jwk"})


def _header_faults(header: dict[str, Any]) -> set[str]:
    faults = set()
    if header.get("typ") != "wf-proof+jwt":
        faults.add("proof_typ")
    if header.get("alg") != "ES256":
        faults.add("proof_alg")
    if "crit" in header:
        faults.add("proof_malformed")
    return faults


def _public_key(jwk: object) -> tuple[int, int] | None:
    if not isinstance(jwk, dict) or jwk.keys() & {"d", "p", "q", "dp", "dq", "qi", "oth", "k"}:
        return None
    operations = jwk.get("key_ops", ["verify"])
    fits = (
        jwk.get("kty") == "EC"
        and jwk.get("crv") == "P-256"
        and jwk.get("use", "sig") == "sig"
        and jwk.get("alg", "ES256") == "ES256"
        and isinstance(operations, list)
        and "verify" in operations
    )
    if not fits:
        return None
    x, y = _coordinate(jwk.get("x")), _coordinate(jwk.get("y"))
    if x is None or y is None or (y * y - (x * x * x - 3 * x + B)) % P:
        return None
    return x, y


def _coordinate(text: object) -> int | None:
    if not isinstance(text, str):
        return None
    try:
        raw = read_base64url(text)
    except NotStrict:
        return None
    number = int.from_bytes(raw)
    return number if len(raw) == 32 and number < P else None


def _claim_faults(claims: dict[str, Any], demand: Demand) -> set[str]:
    faults = set()
    if not is_text(claims):
        faults.add("proof_claims")
    for name, most in {"jti": 256, "iat": 0, "htm": 0, "htu": 2048, "nonce": 256, "ath": 256}.items():
        value = claims.get(name)
        held = _is_time(value) if name == "iat" else isinstance(value, str) and (not most or 0 < len(value) <= most)
        if not held:
            faults.add("proof_claims")
    exp, nbf = claims.get("exp"), claims.get("nbf")
    if exp is not None and not (_is_time(exp) and exp > demand.now):
        faults.add("proof_claims")
    if nbf is not None and not (_is_time(nbf) and nbf <= demand.now + 60):
        faults.add("proof_claims")
    wanted = {"htm": "GET", "nonce": demand.nonce, "ath": _token_hash(demand.token)}
    faults |= {SPECIFIC[name] for name, value in wanted.items() if value is None or claims.get(name) != value}
    if not _is_address(claims.get("htu"), demand.htu):
        faults.add("proof_htu")
    return faults


def _is_address(given: object, own: str) -> bool:
    """Return whether `given` is the server's own address, which is in lower case.

    Scheme and host may be in any case. The default port may be written out, and any query may follow.
    """
    if not isinstance(given, str) or not given.isascii() or any(char <= " " or char in "\\\x7f" for char in given):
        return False
    text = given.partition("#")[0].partition("?")[0]
    scheme, _, rest = text.partition("://")
    authority, slash, path = rest.partition("/")
    own_scheme, _, own_rest = own.partition("://")
    own_authority, _, own_path = own_rest.partition("/")
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, ""
    default = {"wss": "443", "ws": "80"}.get(own_scheme, "")
    shown = "" if not port or port.lstrip("0") == default else f":{port.lstrip('0')}"
    if colon and not authority.endswith("]") and not (port.isdecimal() and len(port) <= 5):
        return False
    return (scheme.lower(), host.lower() + shown, path) == (own_scheme, own_authority, own_path) and bool(slash)


def _token_hash(token: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()


def _is_time(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9_999_999_999


def _times(factor: int, point: Point) -> Point:
    found: Point = None
    while factor:
        if factor & 1:
            found = _plus(found, point)
        point = _plus(point, point)
        factor >>= 1
    return found


def _plus(left: Point, right: Point) -> Point:
    if left is None or right is None:
        return left or right
    (x1, y1), (x2, y2) = left, right
    if x1 == x2 and (y1 + y2) % P == 0:
        return None
    slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, P) if left == right else (y2 - y1) * pow(x2 - x1, -1, P)
    x = (slope * slope - x1 - x2) % P
    return x, (slope * (x1 - x) - y1) % P
