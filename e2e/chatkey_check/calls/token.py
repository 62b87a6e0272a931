"""The token of an honest call, taken apart."""

from __future__ import annotations

from dataclasses import dataclass

from chatkey_check import reading
from chatkey_check.exchange import Exchange
from chatkey_check.model import Blocked


@dataclass(frozen=True, slots=True)
class Token:
    """The token that an answer gives out.

    A part that cannot be read raises `Blocked` by the check that says what is wrong with it.
    """

    answer: Exchange

    @property
    def text(self) -> str:
        """The token as it was sent."""
        token = self.answer.token
        if token is None:
            raise Blocked("jwt.compact")
        return token

    @property
    def compact(self) -> reading.Compact:
        """The token's three segments."""
        try:
            return reading.compact(self.text)
        except reading.Unreadable:
            raise Blocked("jwt.compact") from None

    @property
    def header(self) -> dict[str, object]:
        """The token's header, read leniently: of a member that stands there twice, the last one counts."""
        try:
            value = reading.browser_json(self.compact.header.decode("utf-8-sig", "replace"))
        except reading.Unreadable:
            raise Blocked("jwt.alg") from None
        if not isinstance(value, dict):
            raise Blocked("jwt.alg")
        return value

    @property
    def claims(self) -> dict[str, object]:
        """The token's claims, read strictly."""
        try:
            return reading.strict_object(self.compact.payload)
        except reading.Unreadable:
            raise Blocked("jwt.payload") from None

    @property
    def uid(self) -> object:
        """Who the token says its holder is."""
        return self.claims.get("uid")
