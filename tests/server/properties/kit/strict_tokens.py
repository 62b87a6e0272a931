"""Judges socket tokens and identity tokens (contract 2.4 to 2.6, D-05) without using the server's code."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard

from tests.server.properties.kit.strict_json import NotStrict, is_text, read_base64url, read_compact, read_object

LIVES: Final = {"visitor": 120, "custom": 7200, "social": 120, "identity": 86400}
SOCIALS: Final = ("google", "facebook", "github", "gitlab", "discord", "apple", "x", "tiktok", "amazon")
"""The contract's own list of social providers (4.4)."""
OPTIONAL_TEXTS: Final = {"name": 255, "email": 255, "avatar": 2048}


@dataclass(frozen=True)
class Person:
    """The person for whom a token speaks."""

    uid: str
    login: str
    jkt: str | None
    expires_at: int


@dataclass
class Judgement:
    """The codes of all faults that were found, and the person if there is no fault."""

    faults: set[str] = field(default_factory=set)
    person: Person | None = None


def judge(token: str, secrets: Sequence[bytes], *, pid: str, now: float, wanted: str = "socket") -> Judgement:
    """Judge a token of provider `pid` that is used as a `socket` or an `identity` token."""
    if len(token) > 8192:
        return Judgement({"token_too_large"})
    try:
        header, payload, signature, signed = read_compact(token)
    except NotStrict:
        return Judgement({"token_malformed", *_faults_seen_through_damage(token)})
    found = Judgement(_header_faults(header))
    claims = _claims(payload, found.faults)
    if claims is None:
        found.faults.add("token_signature")
        return found
    is_visitor = wanted == "socket" and claims.get("type") == "visitor"
    if not any(_verifies(key, signature, signed) for key in _keys(secrets, claims, minute=is_visitor)):
        found.faults.add("token_signature")
    found.faults |= _claim_faults(claims, pid, now, wanted)
    if not found.faults:
        found.person = _person(claims, wanted)
    return found


def is_thumbprint(text: object) -> bool:
    """Return whether this is the canonical base64url of 32 bytes."""
    try:
        return isinstance(text, str) and len(read_base64url(text)) == 32
    except NotStrict:
        return False


def _faults_seen_through_damage(token: str) -> set[str]:
    """Return the header's faults in a token that cannot be read completely.

    A reader that judges the header first may report one of these.
    """
    try:
        return _header_faults(read_object(read_base64url(token.split(".", maxsplit=1)[0])))
    except NotStrict:
        return set()


def _header_faults(header: dict[str, Any]) -> set[str]:
    faults: set[str] = set()
    if header.get("alg") != "HS256":
        faults.add("token_alg")
    typ = header.get("typ")
    known_typ = typ is None or (isinstance(typ, str) and typ.lower() in {"jwt", "application/jwt"})
    if not known_typ or header.keys() & {"crit", "b64", "zip", "enc"}:
        faults.add("token_header")
    return faults


def _claims(payload: bytes, faults: set[str]) -> dict[str, Any] | None:
    try:
        claims = read_object(payload)
    except NotStrict:
        faults |= {"token_malformed", "token_claims"}
        return None
    if not is_text(claims):
        faults |= {"token_malformed", "token_claims"}
        return None
    return claims


def _keys(secrets: Sequence[bytes], claims: dict[str, Any], *, minute: bool) -> list[bytes]:
    if not minute:
        return list(secrets)
    iat = claims.get("iat", 0)
    if not _is_time(iat):
        return []
    written = time.strftime("%H:%M", time.gmtime(iat)).encode()
    return [hmac.new(secret, written, hashlib.sha256).digest() for secret in secrets]


def _verifies(key: bytes, signature: bytes, signed: bytes) -> bool:
    return hmac.new(key, signed, hashlib.sha256).digest() == signature


def _claim_faults(claims: dict[str, Any], pid: str, now: float, wanted: str) -> set[str]:
    faults = _shape_faults(claims)
    kind = claims.get("type")
    if kind not in (["visitor", "user"] if wanted == "socket" else ["identity"]):  # a list: kind may be unhashable
        faults.add("token_type")
    if claims.get("pid") != pid:
        faults.add("token_provider")
    exp, iat, nbf = (claims.get(name) for name in ("exp", "iat", "nbf"))
    if _is_time(exp) and exp <= now:
        faults.add("token_expired")
    if any(_is_time(at) and at > now + 60 for at in (iat, nbf)):
        faults.add("token_not_yet_valid")
    if kind == "visitor" and _is_time(iat) and iat // 60 > now // 60:
        faults.add("token_not_yet_valid")
    if _is_time(exp) and _is_time(iat) and not 0 < exp - iat <= LIVES[_login(claims, wanted)]:
        faults.add("token_claims")
    faults |= _binding_faults(claims, wanted)
    return faults


def _shape_faults(claims: dict[str, Any]) -> set[str]:
    uid, data = claims.get("uid"), claims.get("data")
    holds = [
        isinstance(claims.get("pid"), str),
        isinstance(claims.get("type"), str),
        isinstance(uid, str) and 1 <= len(uid) <= 255 and not any(ord(char) < 32 or ord(char) == 127 for char in uid),
        _is_time(claims.get("iat")),
        _is_time(claims.get("exp")),
        claims.get("nbf") is None or _is_time(claims["nbf"]),
        all(_is_optional_text(claims.get(name), most) for name, most in OPTIONAL_TEXTS.items()),
        data is None or isinstance(data, dict),
    ]
    if isinstance(data, dict):
        holds.append(_is_optional_text(data.get("auth_provider"), 10_000))
        holds.append(_is_optional_text(data.get("avatar"), 2048))
    return set() if all(holds) else {"token_claims"}


def _binding_faults(claims: dict[str, Any], wanted: str) -> set[str]:
    cnf, uid = claims.get("cnf"), claims.get("uid")
    faults: set[str] = set()
    if cnf is not None and not (isinstance(cnf, dict) and isinstance(cnf.get("jkt"), str)):
        faults.add("proof_binding_missing")
    if wanted == "identity":
        if _social_of(uid) is None:
            faults.add("token_claims")
        if cnf is None:
            return faults
    elif claims.get("type") == "visitor":
        return faults if _visitor_jkt(uid) else faults | {"token_claims"}
    if not (isinstance(cnf, dict) and is_thumbprint(cnf.get("jkt"))):
        faults.add("proof_binding_missing")
    return faults


def _visitor_jkt(uid: object) -> str | None:
    if isinstance(uid, str) and uid.startswith("v_") and is_thumbprint(uid[2:]):
        return uid[2:]
    return None


def _login(claims: dict[str, Any], wanted: str) -> str:
    if wanted == "identity":
        return "identity"
    if claims.get("type") == "visitor":
        return "visitor"
    data, uid = claims.get("data"), claims.get("uid")
    vouched = data.get("auth_provider") if isinstance(data, dict) else None
    social = _social_of(uid)
    return "social" if social is not None and social == vouched else "custom"


def _social_of(uid: object) -> str | None:
    """Return the social provider in a uid of the form `<social>:<subject>`, or None."""
    social, _, sub = uid.partition(":") if isinstance(uid, str) else ("", "", "")
    return social if social in SOCIALS and sub else None


def _person(claims: dict[str, Any], wanted: str) -> Person:
    login = _login(claims, wanted)
    cnf = claims.get("cnf")
    jkt = _visitor_jkt(claims["uid"]) if login == "visitor" else (cnf["jkt"] if cnf else None)
    return Person(claims["uid"], login, jkt, claims["exp"])


def _is_time(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9_999_999_999


def _is_optional_text(value: object, most: int) -> bool:
    return value is None or (isinstance(value, str) and len(value) <= most)
