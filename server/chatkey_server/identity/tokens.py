"""Creates and strictly reads all kinds of token (contract 2.4-2.6, D-05).

All tokens are JWTs with HS256. A visitor's socket token is signed with a key that changes every minute, all other
tokens with the provider's secret. The claim `type` distinguishes the kinds, and each endpoint accepts only one kind.
"""

from __future__ import annotations

import hmac
import re
import time
from functools import lru_cache
from typing import Annotated, Final, Literal, NamedTuple

import msgspec

from chatkey_protocol.codes import Code
from chatkey_protocol.names import MAX_TOKEN_BYTES
from chatkey_server.identity import claims, encoding, keys
from chatkey_server.identity.claims import LEEWAY_SECONDS, Seconds
from chatkey_server.identity.display import one_line
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.mistakes import misshapen, signed_with
from chatkey_server.identity.social_uid import SocialUid

MAX_UID_CHARS: Final = 255
CUSTOM_MAX_LIFETIME: Final = 7200
SOCIAL_LIFETIME: Final = 120
IDENTITY_LIFETIME: Final = 86_400
MINUTE: Final = 60

_TYPES: Final = frozenset({"jwt", "application/jwt"})
_FORBIDDEN_HEADERS: Final = ("crit", "b64", "zip", "enc")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_HEADER: Final = encoding.encode(b'{"alg":"HS256","typ":"JWT"}')

Display = Annotated[str, msgspec.Meta(max_length=255)]
Address = Annotated[str, msgspec.Meta(max_length=2048)]


class Secrets(msgspec.Struct, frozen=True):
    """A provider's signing secret, and the previous one during the overlap of a rotation."""

    current: bytes
    previous: bytes | None = None
    previous_until: int = 0

    def accepted(self, now: float) -> tuple[bytes, ...]:
        """Return the secrets whose signatures are accepted at `now`, the current one first."""
        if self.previous is not None and now < self.previous_until:
            return (self.current, self.previous)
        return (self.current,)

    def __repr__(self) -> str:
        return "Secrets(…)"


class Profile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The personal data in a token, which is only displayed."""

    name: str | None = None
    email: str | None = None
    avatar: str | None = None
    auth_provider: str | None = None


class SocketIdentity(msgspec.Struct, frozen=True):
    """The identity in a verified socket token. `jkt` is the thumbprint of the key that must sign the proof."""

    pid: str
    uid: str
    login: Literal["visitor", "custom", "social"]
    jkt: str
    expires_at: int
    profile: Profile


class IdentityToken(msgspec.Struct, frozen=True):
    """A verified social identity token (contract 2.5). `jkt` is None if the login was started without one (D-07)."""

    pid: str
    uid: SocialUid
    expires_at: int
    jkt: str | None
    profile: Profile


class _Confirmation(msgspec.Struct, frozen=True):
    jkt: str


class _Data(msgspec.Struct, frozen=True, omit_defaults=True):
    auth_provider: str | None = None
    avatar: Address | None = None


class _Claims(msgspec.Struct, frozen=True, omit_defaults=True):
    pid: str
    uid: str
    type: str
    iat: Seconds
    exp: Seconds
    nbf: Seconds | None = None
    cnf: _Confirmation | None = None
    name: Display | None = None
    email: Display | None = None
    avatar: Address | None = None
    data: _Data | None = None


class _Named(msgspec.Struct, frozen=True):
    pid: str
    type: str
    iat: Seconds


class _Parts(NamedTuple):
    compact: encoding.Compact
    payload: bytes


class UnverifiedToken(NamedTuple):
    """A decoded socket token that is not verified yet. `pid` selects the secret. `repr` does not show the token."""

    parts: _Parts
    pid: str
    type: str
    iat: int

    def __repr__(self) -> str:
        return f"UnverifiedToken(pid={self.pid!r}, …)"


_read_claims: Final = msgspec.json.Decoder(_Claims)
_read_named: Final = msgspec.json.Decoder(_Named)
_write: Final = msgspec.json.Encoder().encode


# making


def mint_visitor(secrets: Secrets, *, pid: str, uid: str, now: float) -> str:
    """Create a visitor socket token that is valid until the end of the next minute (contract 2.6, D-05)."""
    issued = int(now)
    exp = (issued // MINUTE + 2) * MINUTE
    made = _Claims(pid=pid, uid=uid, type="visitor", iat=issued, exp=exp)
    return _signed(made, _minute_key(secrets.current, issued))


def mint_member(secrets: Secrets, *, identity: IdentityToken, jkt: str, now: float) -> str:
    """Create a social member's socket token, valid for 120 s and bound to `jkt` (contract 4.3, D-05)."""
    profile = identity.profile
    made = _Claims(
        pid=identity.pid,
        uid=str(identity.uid),
        type="user",
        iat=int(now),
        exp=min(int(now) + SOCIAL_LIFETIME, identity.expires_at),
        cnf=_Confirmation(jkt),
        name=profile.name,
        email=profile.email,
        data=_Data(auth_provider=profile.auth_provider, avatar=profile.avatar),
    )
    return _signed(made, secrets.current)


def mint_custom(
    secrets: Secrets, *, pid: str, uid: str, jkt: str, profile: Profile, now: float, lifetime: int = 3600
) -> str:
    """Create a socket token as an integrator's backend does (contract 2.4). Used by the command line and the tests."""
    made = _Claims(
        pid=pid,
        uid=uid,
        type="user",
        iat=int(now),
        exp=int(now) + lifetime,
        cnf=_Confirmation(jkt),
        name=profile.name,
        email=profile.email,
        avatar=profile.avatar,
    )
    return _signed(made, secrets.current)


def mint_identity(secrets: Secrets, *, pid: str, uid: SocialUid, profile: Profile, jkt: str | None, now: float) -> str:
    """Create the 24-hour identity token of a social login (contract 2.5)."""
    made = _Claims(
        pid=pid,
        uid=str(uid),
        type="identity",
        iat=int(now),
        exp=int(now) + IDENTITY_LIFETIME,
        cnf=_Confirmation(jkt) if jkt is not None else None,
        name=profile.name,
        email=profile.email,
        data=_Data(auth_provider=uid.social, avatar=profile.avatar),
    )
    return _signed(made, secrets.current)


# reading


def unverified(token: str, *, most: int = MAX_TOKEN_BYTES) -> UnverifiedToken:
    """Decode a socket token of at most `most` characters without verifying it, to find its provider."""
    parts = _parts(token, most)
    try:
        named = claims.read(_read_named, parts.payload)
    except claims.WrongClaim as wrong:
        raise _misread(parts.payload, wrong) from None
    if not named.pid:
        raise _wrong("pid", "is missing")
    return UnverifiedToken(parts, named.pid, named.type, named.iat)


def read_socket_token(token: str, secrets: Secrets, *, pid: str, now: float) -> SocketIdentity:
    """Verify a visitor's or member's socket token of provider `pid`, and return its identity."""
    return verified(unverified(token), secrets, pid=pid, now=now)


def verified(token: UnverifiedToken, secrets: Secrets, *, pid: str, now: float) -> SocketIdentity:
    """Verify a decoded socket token and return its identity.

    Checks, in this order: compact form and size, header, signature, JSON without repeated members, claims and their
    bounds, provider, times, and the binding to a key (`proof_binding_missing`).
    """
    if token.type == "visitor":
        return _verified_visitor(token, secrets, pid, now)
    _verify(token.parts.compact, secrets.accepted(now), pid)
    read = _claims(token.parts.payload)
    _check_type(read, "user")
    _check_common(read, pid, now)
    login = _login_of(read)
    _check_lifetime(read, SOCIAL_LIFETIME if login == "social" else CUSTOM_MAX_LIFETIME)
    return SocketIdentity(pid, read.uid, login, _binding(read), read.exp, _profile(read))


def read_identity_token(
    token: str, secrets: Secrets, *, pid: str, now: float, most: int = MAX_TOKEN_BYTES
) -> IdentityToken:
    """Verify an identity token of at most `most` characters for the member token endpoint (contract 4.3)."""
    parts = _parts(token, most)
    _verify(parts.compact, secrets.accepted(now), pid)
    read = _claims(parts.payload)
    _check_type(read, "identity")
    _check_common(read, pid, now)
    _check_lifetime(read, IDENTITY_LIFETIME)
    uid = SocialUid.parse(read.uid)
    if uid is None:
        raise _wrong("uid", "is not a social provider, a colon and a subject")
    jkt = _binding(read) if read.cnf is not None else None
    return IdentityToken(pid, uid, read.exp, jkt, _profile(read, uid.social))


def _verified_visitor(token: UnverifiedToken, secrets: Secrets, pid: str, now: float) -> SocketIdentity:
    _verify(token.parts.compact, tuple(_minute_key(secret, token.iat) for secret in secrets.accepted(now)), pid)
    read = _claims(token.parts.payload)
    _check_common(read, pid, now)
    if read.iat // MINUTE > now // MINUTE:
        raise _early("iat", read.iat - now)
    _check_lifetime(read, 2 * MINUTE)
    jkt = keys.jkt_of_visitor(read.uid)
    if jkt is None:
        raise _wrong("uid", "is not a visitor uid: v_ and the thumbprint of the connection key")
    return SocketIdentity(pid, read.uid, "visitor", jkt, read.exp, Profile())


# the compact form


def _signed(made: _Claims, key: bytes) -> str:
    signed = f"{_HEADER}.{encoding.encode(_write(made))}"
    return f"{signed}.{encoding.encode(hmac.digest(key, signed.encode(), 'sha256'))}"


def _minute_key(secret: bytes, issued: int) -> bytes:
    minute = time.strftime("%H:%M", time.gmtime(issued))
    return hmac.digest(secret, minute.encode(), "sha256")


def _parts(token: str, most: int) -> _Parts:
    if len(token) > most:
        raise Refused(Code.TOKEN_TOO_LARGE, f"The token has {len(token)} characters; the limit is {most}.")
    try:
        compact = encoding.split(token)
        _check_header(compact.header)
        return _Parts(compact, encoding.decode(compact.payload))
    except encoding.Malformed as wrong:
        raise Refused(Code.TOKEN_MALFORMED, f"The token is malformed: {wrong}.", cause=misshapen(token)) from None


@lru_cache(maxsize=256)
def _check_header(segment: str) -> None:
    # A backend sends the same header in every token: headers that passed are cached.
    header = encoding.json_object(encoding.decode(segment))
    if header.get("alg") != "HS256":
        raise Refused(Code.TOKEN_ALG, "The token's alg must be 'HS256'.", member="alg")
    for name in _FORBIDDEN_HEADERS:
        if name in header:
            raise Refused(Code.TOKEN_HEADER, f"The token's header must not contain {name!r}.", member=name)
    typ = header.get("typ")
    if typ is not None and not (isinstance(typ, str) and typ.lower() in _TYPES):
        raise Refused(Code.TOKEN_HEADER, "The token's typ must be 'JWT' or absent.", member="typ")


def _verify(compact: encoding.Compact, secrets: tuple[bytes, ...], pid: str) -> None:
    for key in secrets:
        if hmac.compare_digest(compact.signature, hmac.digest(key, compact.signed, "sha256")):
            return
    raise Refused(
        Code.TOKEN_SIGNATURE,
        "The token's signature does not verify with the provider's secret_key.",
        member="signature",
        cause=signed_with(compact.signed, compact.signature, secrets[0], pid),
    )


def _claims(payload: bytes) -> _Claims:
    try:
        return claims.read_strictly(_read_claims, payload)
    except encoding.Malformed as wrong:
        raise _malformed(wrong) from None
    except claims.WrongClaim as wrong:
        if wrong.member.startswith("cnf"):
            raise _unbound(f"{wrong}") from None
        raise _wrong(wrong.member, wrong.what) from None


# the claims


def _check_type(read: _Claims, wanted: str) -> None:
    if read.type != wanted:
        raise Refused(Code.TOKEN_TYPE, f"The token's type must be {wanted!r} here.", member="type")


def _check_common(read: _Claims, pid: str, now: float) -> None:
    if read.pid != pid:
        raise Refused(Code.TOKEN_PROVIDER, f"The token's pid is not {pid!r}.", member="pid")
    if not 1 <= len(read.uid) <= MAX_UID_CHARS:
        raise _wrong("uid", f"must have 1 to {MAX_UID_CHARS} characters")
    if _CONTROL.search(read.uid):
        raise _wrong("uid", "contains a control character")
    if read.exp <= now:
        raise _expired(read.exp, now)
    for member, value in (("iat", read.iat), ("nbf", read.nbf)):
        if value is not None and value > now + LEEWAY_SECONDS:
            raise _early(member, value - now)


def _check_lifetime(read: _Claims, most: int) -> None:
    lifetime = read.exp - read.iat
    if not 0 < lifetime <= most:
        raise _wrong("exp", f"is {lifetime} s after iat; the limit here is {most} s")


def _login_of(read: _Claims) -> Literal["custom", "social"]:
    # Custom logins may use uids such as "google:123". Only tokens of our own endpoint also name the social provider.
    vouched = read.data.auth_provider if read.data is not None else None
    uid = SocialUid.parse(read.uid)
    return "social" if uid is not None and uid.social == vouched else "custom"


def _binding(read: _Claims) -> str:
    if read.cnf is None:
        raise _unbound("cnf is missing")
    if not keys.is_jkt(read.cnf.jkt):
        raise _unbound("cnf.jkt is not a thumbprint: 43 characters of base64url")
    return read.cnf.jkt


def _profile(read: _Claims, social: str | None = None) -> Profile:
    data = read.data or _Data()
    avatar = read.avatar or data.avatar
    if avatar is not None and not avatar.startswith(("https://", "http://")):
        avatar = None
    auth_provider = social or data.auth_provider
    return Profile(name=one_line(read.name), email=read.email, avatar=avatar, auth_provider=auth_provider)


# refusing


def _wrong(member: str, what: str) -> Refused:
    if not member:
        return Refused(Code.TOKEN_MALFORMED, f"The token's payload is malformed: it {what}.", member="payload")
    milliseconds = member in {"exp", "iat", "nbf"} and "9999999999" in what
    return Refused(
        Code.TOKEN_CLAIMS,
        f"The token's claim {member} {what}.",
        member=member,
        cause=f"{member} looks like milliseconds; use seconds" if milliseconds else None,
    )


def _malformed(wrong: encoding.Malformed) -> Refused:
    return Refused(Code.TOKEN_MALFORMED, f"The token's payload is malformed: {wrong}.", member="payload")


def _misread(payload: bytes, wrong: claims.WrongClaim) -> Refused:
    # A number such as NaN makes the JSON malformed. Report that, as after the MAC check, instead of a wrong type.
    try:
        encoding.json_value(payload, repeated=True)
    except encoding.Malformed as malformed:
        return _malformed(malformed)
    return _wrong(wrong.member, wrong.what)


def _expired(exp: int, now: float) -> Refused:
    return Refused(
        Code.TOKEN_EXPIRED,
        f"The token expired {now - exp:.0f} s ago.",
        member="exp",
        cause="exp looks like a lifetime; it must be the time of expiry" if exp <= IDENTITY_LIFETIME else None,
    )


def _unbound(what: str) -> Refused:
    return Refused(
        Code.PROOF_BINDING_MISSING,
        f"The token is not bound to a key: {what}. Put the jkt that getToken received into cnf: {{jkt: …}}.",
        member="cnf.jkt",
    )


def _early(member: str, ahead: float) -> Refused:
    return Refused(
        Code.TOKEN_NOT_YET_VALID,
        (
            f"The token's {member} is {ahead:.0f} s ahead of this server's clock; correct the clock of the "
            "machine that made the token."
        ),
        member=member,
        cause=f"the clock of the machine that made the token is about {ahead:.0f} s ahead",
    )
