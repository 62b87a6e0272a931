"""Checks the one-time proof that opens a socket: an ES256 JWS over the connection's nonce (contract 4.9, 5.5, D-10)."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from functools import lru_cache, partial
from typing import Annotated, Final, TypeVar

import msgspec

from chatkey_protocol.codes import Code
from chatkey_protocol.names import PROOF_HTM, PROOF_TYP
from chatkey_server.identity import claims, encoding, keys
from chatkey_server.identity.claims import LEEWAY_SECONDS, Seconds
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.proof_mistakes import ath_cause, htu_cause, signature_cause

MAX_PROOF_BYTES: Final = 4096
KEPT_KEYS: Final = 4096
"""How many loaded keys are cached. The least recently used key is dropped first."""
_NONCE_BYTES: Final = 24
_ADDRESS: Final = re.compile(
    r"(?P<scheme>[a-z]+)://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>\d{1,5}))?(?P<path>/[^?#\s\\]*)?(?:[?#]\S*)?",
    re.ASCII | re.IGNORECASE,
)
_DEFAULT_PORTS: Final = {"wss": 443, "ws": 80}

Short = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]


class Common(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The claims that every proof has, beside the nonce. Reading is fastest in the order in which our widget writes."""

    jti: Short
    iat: Seconds
    exp: Seconds | None = None
    nbf: Seconds | None = None


class _Claims(Common, frozen=True, kw_only=True):
    htm: str
    htu: Annotated[str, msgspec.Meta(min_length=1, max_length=2048)]
    nonce: Short
    ath: Short


C = TypeVar("C", bound=Common)


class Proof(msgspec.Struct, frozen=True):
    """A valid proof: the key's thumbprint, and how far the widget's clock is ahead of the server's, in seconds."""

    jkt: str
    skew: float


_read_claims: Final = msgspec.json.Decoder(_Claims)


def verify(proof: str, *, token: str, jkt: str, nonce: str | None, htu: str, now: float) -> Proof:
    """Check a proof in the order of D-10: format, signature, thumbprint, nonce, `htm`, `htu`, `ath`.

    `token` is the socket token that came with the proof. `jkt` is the thumbprint in that token. `nonce` is the nonce of
    the connection, or None if the nonce was used or has expired. `htu` is the socket's address. Each check has a
    refusal code of its own. `jti` is not stored, because the nonce makes the proof single-use. `iat` only serves to
    measure clock skew.
    """
    read = signed_claims(proof, _read_claims, typ=PROOF_TYP, jkt=jkt, now=now)
    if not is_nonce(read.nonce, nonce):
        raise Refused(
            Code.PROOF_NONCE,
            (
                "The proof's nonce belongs to another connection or was already used; answer the connection's `hello` "
                "with a new proof."
            ),
            member="nonce",
        )
    _check_target(read, token=token, htu=htu)
    return Proof(jkt=jkt, skew=read.iat - now)


def signed_claims(proof: str, read: msgspec.json.Decoder[C], *, typ: str, jkt: str, now: float) -> C:
    """Check format, signature and thumbprint of a proof with this `typ`, and return its claims."""
    compact = _split(proof)
    key = _key_of(compact.header, typ)
    claimed = _claims_of(compact, read, now)
    if not key.verify(compact.signature, compact.signed):
        raise Refused(
            Code.PROOF_SIGNATURE,
            "The proof's signature does not verify with the key in its header.",
            member="signature",
            cause=signature_cause(compact.signature, partial(key.verify, signed=compact.signed)),
        )
    if not hmac.compare_digest(key.jkt, jkt):
        raise Refused(
            Code.PROOF_KEY_MISMATCH,
            "The proof is signed with another key than the key to which the token is bound.",
            member="jwk",
        )
    return claimed


def new_nonce() -> str:
    """Return a new random nonce: 192 bits as base64url."""
    return secrets.token_urlsafe(_NONCE_BYTES)


def is_nonce(claimed: str, nonce: str | None) -> bool:
    """Return whether a proof contains the expected nonce. A nonce that was used or has expired is None."""
    return nonce is not None and hmac.compare_digest(claimed.encode(), nonce.encode())


def access_token_hash(token: str) -> str:
    """Return `ath`: base64url of the SHA-256 of the token's ASCII (RFC 9449 4.2)."""
    return encoding.encode(hashlib.sha256(token.encode()).digest())


def same_address(left: str, right: str) -> bool:
    """Return whether two socket addresses are equal after normalisation. Query and fragment are ignored."""
    normal = _normal(left)
    return normal is not None and normal == _normal(right)


def _split(proof: str) -> encoding.Compact:
    if len(proof) > MAX_PROOF_BYTES:
        raise Refused(Code.PROOF_MALFORMED, f"The proof has {len(proof)} characters; the limit is {MAX_PROOF_BYTES}.")
    try:
        return encoding.split(proof)
    except encoding.Malformed as wrong:
        raise Refused(Code.PROOF_MALFORMED, f"The proof is not a compact JWS: {wrong}.") from None


def _malformed(name: str, wrong: encoding.Malformed) -> Refused:
    return Refused(Code.PROOF_MALFORMED, f"The proof's {name} is malformed: {wrong}.", member=name)


@lru_cache(maxsize=KEPT_KEYS)
def _key_of(segment: str, typ: str) -> keys.PublicKey:
    # A widget sends the same header in every proof, and parsing it costs as much as verifying the signature.
    try:
        header = encoding.json_object(encoding.decode(segment))
    except encoding.Malformed as wrong:
        raise _malformed("header", wrong) from None
    if header.get("typ") != typ:
        raise Refused(Code.PROOF_TYP, f"The proof's typ must be {typ!r}.", member="typ")
    if header.get("alg") != "ES256":
        raise Refused(Code.PROOF_ALG, "The proof's alg must be 'ES256'.", member="alg")
    if "crit" in header:
        raise Refused(
            Code.PROOF_MALFORMED,
            "The proof's header lists critical extensions, and the server supports none.",
            member="crit",
        )
    jwk = header.get("jwk")
    if not isinstance(jwk, dict):
        raise Refused(
            Code.PROOF_JWK, "The proof's header must contain the public key as an object `jwk`.", member="jwk"
        )
    return keys.read_jwk(jwk)


def _claims_of(compact: encoding.Compact, decoder: msgspec.json.Decoder[C], now: float) -> C:
    try:
        read = claims.read_strictly(decoder, encoding.decode(compact.payload))
    except encoding.Malformed as wrong:
        raise _malformed("payload", wrong) from None
    except claims.WrongClaim as wrong:
        milliseconds = "9999999999" in wrong.what
        raise Refused(
            Code.PROOF_CLAIMS,
            f"The proof's claim {wrong}.",
            member=wrong.member,
            cause=f"{wrong.member} looks like milliseconds; use seconds" if milliseconds else None,
        ) from None
    if read.exp is not None and read.exp <= now:
        raise Refused(
            Code.PROOF_CLAIMS,
            "The proof's exp has passed; omit it, because the nonce limits the proof's lifetime.",
            member="exp",
        )
    if read.nbf is not None and read.nbf > now + LEEWAY_SECONDS:
        raise Refused(Code.PROOF_CLAIMS, "The proof's nbf is in the future; omit it.", member="nbf")
    return read


def _check_target(read: _Claims, *, token: str, htu: str) -> None:
    if read.htm != PROOF_HTM:
        raise Refused(Code.PROOF_HTM, f"The proof's htm must be {PROOF_HTM!r}.", member="htm")
    if not same_address(read.htu, htu):
        raise Refused(
            Code.PROOF_HTU,
            f"The proof's htu must be the address of this socket, {htu}.",
            member="htu",
            cause=htu_cause(read.htu, htu),
        )
    if not hmac.compare_digest(read.ath.encode(), access_token_hash(token).encode()):
        raise Refused(
            Code.PROOF_ATH,
            "The proof's ath is not base64url(SHA-256(token)) for the token in the same frame.",
            member="ath",
            cause=ath_cause(read.ath, token),
        )


@lru_cache(maxsize=256)
def _normal(address: str) -> tuple[str, str, int, str] | None:
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return None
    scheme = found["scheme"].lower()
    port = int(found["port"]) if found["port"] else _DEFAULT_PORTS.get(scheme, 0)
    return scheme, found["host"].lower(), port, found["path"] or "/"
