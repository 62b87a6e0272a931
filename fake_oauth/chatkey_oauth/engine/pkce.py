"""Proof key for code exchange (RFC 7636)."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING

from chatkey_oauth.engine.refusals import Reason, TokenRefused

if TYPE_CHECKING:
    from chatkey_oauth.engine.grants import Challenge


def check_verifier(challenge: Challenge | None, verifier: str | None) -> None:
    """Demand the verifier exactly when a challenge was stored; without one a verifier is ignored."""
    if challenge is None:
        return
    if not verifier:
        raise TokenRefused(Reason.VERIFIER_MISSING, "code_verifier")
    derived = s256(verifier) if challenge.method == "S256" else verifier
    if not compare_digest(
        derived.encode("utf-8", "surrogateescape"), challenge.value.encode("utf-8", "surrogateescape")
    ):
        raise TokenRefused(Reason.VERIFIER_WRONG, "code_verifier")


def s256(verifier: str) -> str:
    """The S256 challenge of a verifier (RFC 7636 4.2)."""
    return base64url(sha256(verifier.encode("utf-8", "surrogateescape")).digest())


def base64url(raw: bytes) -> str:
    """Base64url without padding (RFC 7515 2)."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
