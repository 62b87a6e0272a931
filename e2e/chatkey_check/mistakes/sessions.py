"""Finds sessions that are signed with a publicly known key, without a request."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import unquote

from chatkey_check.mistakes.signatures import public_keys
from chatkey_check.reading import encoded, hs256


def public_key_of(session: str) -> str:
    """Return what the key of a signed session is, such as `the placeholder 'secret'`, or an empty text.

    Knows JWTs with HS256, and the sessions of Flask (itsdangerous with its default key derivation).
    """
    signed, _, signature = unquote(session).rpartition(".")
    if "." not in signed:
        return ""
    text = signed.encode()
    for known in public_keys(None):
        derived = hmac.digest(known.key, b"cookie-session", hashlib.sha1)
        if signature in {encoded(hs256(known.key, text)), encoded(hmac.digest(derived, text, hashlib.sha1))}:
            return known.cause
    return ""
