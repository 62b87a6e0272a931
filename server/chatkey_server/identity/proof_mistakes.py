"""Detects common mistakes behind invalid proofs, for the log and for authors of widgets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from chatkey_server.identity import encoding


def ath_cause(ath: str, token: str) -> str | None:
    """Return what `ath` contains instead of the token's hash, or None if no known mistake fits."""
    raw = token.encode()
    for mistake, written in _other_hashes(raw):
        if ath == written:
            return f"ath is {mistake}"
    return None


def _other_hashes(token: bytes) -> Iterator[tuple[str, str]]:
    digest = hashlib.sha256(token)
    yield "the hash with padding; omit the =", encoding.encode(digest.digest()) + "="
    yield "the hash in hex; encode it as base64url", digest.hexdigest()
    yield (
        "the base64url of the hex digest; encode the bytes of the hash instead",
        encoding.encode(digest.hexdigest().encode()),
    )
    yield "the hash of the token followed by a newline", _hash(token + b"\n")
    yield "the hash of the token without its signature", _hash(token.rpartition(b".")[0])
    yield "a SHA-512 hash; use SHA-256", encoding.encode(hashlib.sha512(token).digest())
    yield "a SHA-384 hash; use SHA-256", encoding.encode(hashlib.sha384(token).digest())
    yield "the token itself; send its SHA-256 hash", token.decode()


def _hash(raw: bytes) -> str:
    return encoding.encode(hashlib.sha256(raw).digest())


def htu_cause(htu: str, wanted: str) -> str | None:
    """Return the known mistake that explains why `htu` differs from the socket's address, or None."""
    scheme, _, address = wanted.partition("://")
    if htu.lower().startswith(("http://", "https://")):
        return f"htu is a web address; use the scheme {scheme}, as in socket_uri"
    if htu == f"{wanted}/":
        return "htu ends in a slash, but the socket's address does not"
    if htu.startswith("/") or htu == address:
        return "htu is incomplete; use socket_uri exactly as it is in the configuration"
    return None


def signature_cause(signature: bytes, verifies: Callable[[bytes], bool]) -> str | None:
    """Return which encoding a signature has instead of raw r‖s, or None. `verifies` checks a corrected signature."""
    if signature[:3] == bytes([0x30, len(signature) - 2 & 0xFF, 0x02]):  # a SEQUENCE whose first member is an INTEGER
        return "the signature is DER-encoded; a JWS uses the raw 64 bytes r‖s"
    if len(signature) == 64 and verifies(signature[32:] + signature[:32]):
        return "the signature contains s before r"
    if len(signature) == 128 and (raw := _unhex(signature)) and verifies(raw):
        return "the signature was hex-encoded before base64url; encode its bytes directly"
    return None


def _unhex(text: bytes) -> bytes | None:
    try:
        return bytes.fromhex(text.decode("ascii"))
    except ValueError:
        return None
