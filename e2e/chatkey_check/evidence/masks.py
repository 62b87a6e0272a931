"""Removes secrets, sessions and tokens from everything that is shown."""

from __future__ import annotations

import base64
import re
from typing import Final, Self

from chatkey_check.exchange import Header
from chatkey_check.target import Target
from chatkey_peer.forms import forms

HIDDEN: Final = "•••"
JWT: Final = re.compile(r"ey[A-Za-z0-9_+/=-]{8,}\.[A-Za-z0-9_+/=-]{8,}(?:\.[A-Za-z0-9_+/=-]*)*")
COOKIE_VALUE: Final = re.compile(r"^([^=;]+)=([^;]*)")
SHORTEST: Final = 4
"""Shorter values are not masked, because they would also remove letters from ordinary words."""


class Masks:
    """The values that must not be shown. Values may be added during a run."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._headers = {"cookie", "authorization", "proxy-authorization", "set-cookie"}

    @classmethod
    def of(cls, target: Target) -> Self:
        """Return masks for the secrets and the logins of a target."""
        made = cls()
        made.add(*target.other_secrets.values(), *([target.secret] if target.secret else []))
        for headers in (
            target.headers,
            target.must_refuse,
            *(login.headers for login in (target.login, target.login_b) if login),
        ):
            for name, _ in headers:
                made.add_header(name)
        return made

    def add(self, *values: str) -> None:
        """Hide these values, including their encoded forms."""
        for value in values:
            if len(value) >= SHORTEST:
                self._values = self._values | _forms(value)  # a new set: another thread may be reading the old one

    def add_header(self, name: str) -> None:
        self._headers.add(name.lower())

    def masked(self, text: str) -> str:
        """Return a text with all secrets masked and with terminal control characters escaped."""
        text = self._without_values(JWT.sub(_beginning, text))
        return "".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text)

    def hidden(self, body: bytes) -> bytes:
        """Return a body with all secrets masked and otherwise unchanged."""
        text = body.decode("utf-8", "surrogateescape")
        return self._without_values(JWT.sub(HIDDEN, text)).encode("utf-8", "surrogateescape")

    def _without_values(self, text: str) -> str:
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, HIDDEN)
        return text

    def header(self, header: Header) -> Header:
        """Return a header with secrets masked. The attributes of a Set-Cookie header stay readable."""
        name, value = header
        if name.lower() == "set-cookie":
            return name, self.masked(COOKIE_VALUE.sub(rf"\1={HIDDEN}", value))
        if name.lower() in self._headers:
            return name, HIDDEN
        return name, self.masked(value)


def _beginning(token: re.Match[str]) -> str:
    return f"{token[0][:8]}…(token of {len(token[0])} characters)"


def _forms(value: str) -> set[str]:
    raw = value.encode()
    whole = (encode(raw).decode().rstrip("=") for encode in (base64.b64encode, base64.urlsafe_b64encode))
    return {*(form for _, form in forms(value)), *whole}
