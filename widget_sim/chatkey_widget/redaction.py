"""Removes secrets and personal data from the result of `debug()`, because people paste it into tickets (D-12)."""

import re
from collections.abc import Mapping
from typing import Final

HIDDEN: Final = "hidden"

_OPEN_CLAIMS: Final = frozenset(
    {"pid", "uid", "type", "iat", "nbf", "exp", "jkt", "auth_provider"}
    | {"typ", "alg", "kty", "crv", "x", "y", "htm", "htu"}
)
"""Claims and header members whose values are shown. A token may contain anything, so all other values are hidden."""

_CLAIMS: Final = frozenset({"claims", "header"})
_PERSONAL: Final = frozenset({"name", "avatar"})
_SECRETS: Final = (
    (re.compile(r"eyJ[\w-]{5,}(?:\.[\w-]*)*"), HIDDEN),  # base64url of JSON: a token, or the beginning of one
    (re.compile(r"[^\s@<>\"'(),;:=]+@[^\s@<>\"'(),;:]*\w"), HIDDEN),  # an e-mail address
    (re.compile(r"(https?://[^\s?#]*[?#])[^\s\"'<>]+"), rf"\1{HIDDEN}"),  # the query or fragment of an address
)


def plain(value: object) -> object:
    """Return a copy without text that looks like a secret. Messages may quote errors of the page's code."""
    match value:
        case str():
            for pattern, replacement in _SECRETS:
                value = pattern.sub(replacement, value)
            return value
        case Mapping():
            return {str(name): plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return value


def claims(payload: Mapping[str, object]) -> dict[str, object]:
    """Return all members of a token or proof. Only values that are known to be harmless are shown."""
    return {name: _claim(name, value) for name, value in payload.items()}


def detail(members: Mapping[str, object]) -> dict[str, object]:
    """Return the detail of an event without personal data and secrets."""
    return {name: _member(name, value) for name, value in members.items()}


def _claim(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return claims(value)
    return plain(value) if name in _OPEN_CLAIMS else HIDDEN


def _member(name: str, value: object) -> object:
    if name in _CLAIMS and isinstance(value, Mapping):
        return claims(value)
    return HIDDEN if name in _PERSONAL and value is not None else plain(value)
