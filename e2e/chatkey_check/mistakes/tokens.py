"""Explains why a text is not a JWT in compact form."""

from __future__ import annotations

import json
import re
from typing import Final

from chatkey_check import reading
from chatkey_check.mistakes.answers import Wrong

PREFIX: Final = re.compile(r"(?i)(bearer|jwt|token)[ :]")
WORDS: Final = frozenset({"null", "undefined", "none", "false", "nan", "nil", "[object object]", "[object promise]"})
NOBODY: Final = (
    "The endpoint finds nobody logged in. Check that the session is still valid (--whoami shows it), and that its "
    "cookie is sent to this path."
)


def no_token(member: object) -> Wrong:
    """Return what is wrong with a `token` that is empty or not a string, although a login was sent."""
    if member is None:
        return Wrong("`token` is null although the call was logged in.", NOBODY)
    if member == "":
        return Wrong("`token` is an empty string although the call was logged in.", NOBODY)
    return Wrong(f"`token` is {reading.kind(member)}, not a string.", "Return the encoded token itself, as a string.")


def wrong_form(token: str) -> Wrong | None:
    """Return what is wrong with the form of a token, or None."""
    guess = _recognised(token)
    if guess:
        return guess
    try:
        compact = reading.compact(token)
    except reading.Unreadable as unreadable:
        return Wrong(f"The token is not a JWT: {unreadable.reason}.")
    if not compact.signature and not _unsecured(compact.header):
        return Wrong(
            "The token has no signature.",
            "Return the whole string from your JWT library's encode(), with all three parts.",
        )
    return None


def _recognised(token: str) -> Wrong | None:
    bare = token.strip()
    if bare.lower() in WORDS:
        return Wrong(
            f"The token is the string {bare!r}.", "If nobody is logged in, return the JSON value null, not a string."
        )
    if token != bare:
        name = "a newline" if "\n" in token or "\r" in token else "white space"
        return Wrong(
            f"There is {name} before or after the token.", "Remove these characters before you return the token."
        )
    if PREFIX.match(token):
        return Wrong(f"The token begins with {token[: token.find(' ') + 1]!r}.", "Return the token without a prefix.")
    if token.startswith(("b'", 'b"')):
        return Wrong("The token is Python's repr of bytes.", "Use decode() for the bytes, not str().")
    if token[0] in "\"'":
        return Wrong("The token is in quotes: it was encoded as JSON twice.", "Return the string itself.")
    if token.startswith("{"):
        return _serialised(token)
    if token.count(".") == 4:
        return Wrong(
            "The token has five parts: it is encrypted (JWE).", "Sign it with HS256 (JWS), and do not encrypt it."
        )
    if "=" in token:
        return Wrong("The token has `=` padding.", "Remove the `=`: JWTs are base64url without padding.")
    if "+" in token or "/" in token:
        return Wrong("The token uses the standard base64 alphabet, with + and /.", "Use base64url: - and _ instead.")
    if "%2" in token:
        return Wrong("The token is URL-encoded.", "Return the token unchanged: JSON needs no URL encoding.")
    return None


def _serialised(token: str) -> Wrong:
    try:
        value = json.loads(token)
    except ValueError:
        value = None
    if isinstance(value, dict) and "signature" in value:
        return Wrong(
            "The token is in JSON serialisation (RFC 7515 7.2).", "Use the compact serialisation, with two dots."
        )
    return Wrong("The token is a string with JSON in it.", "Return the encoded token itself.")


def _unsecured(header: bytes) -> bool:
    try:
        return str(reading.strict_object(header).get("alg")).lower() == "none"
    except reading.Unreadable:
        return False
