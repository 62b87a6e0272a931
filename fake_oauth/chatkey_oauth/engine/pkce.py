"""Proof key for code exchange (RFC 7636)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from chatkey_oauth.engine.refusals import Reason, TokenRefused
from chatkey_oauth.engine.text import base64url, same

if TYPE_CHECKING:
    from chatkey_oauth.engine.grants import Challenge


def check_verifier(challenge: Challenge | None, verifier: str | None) -> None:
    """Require a matching verifier if there is a challenge. Without a challenge, ignore the verifier."""
    if challenge is None:
        return
    if not verifier:
        raise TokenRefused(Reason.VERIFIER_MISSING, "code_verifier")
    for form in FORMS[challenge.method]:
        if same(form(verifier), challenge.value):
            return
    raise TokenRefused(Reason.VERIFIER_WRONG, "code_verifier")


@lru_cache(maxsize=64)
def s256(verifier: str) -> str:
    """Return the S256 challenge of a verifier (RFC 7636 4.2). The result is cached, because the lab needs it, too."""
    return base64url(sha256(verifier.encode("utf-8", "surrogateescape")).digest())


def s256_hex(verifier: str) -> str:
    """Return the challenge in TikTok's variant, which is the digest in lower-case hexadecimal digits."""
    return sha256(verifier.encode("utf-8", "surrogateescape")).hexdigest()


def plain(verifier: str) -> str:
    """Return the `plain` challenge, which is equal to the verifier (RFC 7636 4.2)."""
    return verifier


FORMS: Final[Mapping[str, tuple[Callable[[str], str], ...]]] = {
    "S256": (s256,),
    "plain": (plain,),
    "S256 hex": (s256_hex,),
    "S256 any": (s256, s256_hex),
}
"""The functions that compute a challenge from a verifier, by comparison.

The last two are not methods that a request can name.
"""
