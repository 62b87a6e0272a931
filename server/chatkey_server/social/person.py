"""Reads a person's data from a social provider's response. Leaves out values that no database or page can hold."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from chatkey_server.identity.display import NO_TEXT, one_line
from chatkey_server.identity.origins import is_loopback_host

MAX_SUBJECT: Final = 200
"""In characters. With `<social>:` in front, a subject fits into the 255 characters of a member's uid."""
MAX_NAME: Final = 255
MAX_EMAIL: Final = 254
MAX_AVATAR: Final = 1024

_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")


class Unusable(Exception):
    """A response of a social provider cannot be used. The message says why, without quoting the response."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person at a social provider. Only `sub` identifies the person. E-mail does not link accounts."""

    sub: str
    name: str | None = None
    email: str | None = None
    avatar: str | None = None


def subject(value: object) -> str:
    """Return the subject id of a provider that sends the id as text. Raises `Unusable` for anything else."""
    if value is None:
        raise Unusable("the subject id is missing")
    if not isinstance(value, str):
        raise Unusable("the subject id is not text")
    if not 0 < len(value) <= MAX_SUBJECT:
        raise Unusable(f"the subject id has {len(value)} characters instead of 1 to {MAX_SUBJECT}")
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise Unusable("the subject id contains characters that are not allowed")
    return value


def numeric_subject(value: object) -> str:
    """Return a numeric subject id, which the provider may send as a number or as text."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**MAX_SUBJECT:
        return str(value)
    return subject(value)


def display_name(*candidates: object) -> str | None:
    """Return the first candidate with visible text, as one line of at most 255 characters."""
    for candidate in candidates:
        if isinstance(candidate, str) and (line := one_line(candidate)):
            return line[:MAX_NAME].rstrip()
    return None


def email(value: object) -> str | None:
    """Return the value if it has the form of an e-mail address, otherwise None."""
    if not isinstance(value, str) or len(value) > MAX_EMAIL or NO_TEXT.search(value):
        return None
    return value if _EMAIL.fullmatch(value) else None


def avatar(value: object) -> str | None:
    """Return the URL of a picture if a page may load it (https, or http on this machine), otherwise None."""
    if not isinstance(value, str) or len(value) > MAX_AVATAR or not (value.isascii() and value.isprintable()):
        return None
    try:
        parts = urlsplit(value)
        host = parts.hostname or ""
    except ValueError:
        return None
    secure = parts.scheme == "https" or (parts.scheme == "http" and is_loopback_host(host))
    return value if host and secure else None
