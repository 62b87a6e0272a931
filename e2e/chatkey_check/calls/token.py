"""The token of a normal call, split into its parts."""

from __future__ import annotations

from dataclasses import dataclass

from chatkey_check import reading
from chatkey_check.exchange import Exchange
from chatkey_check.model import Blocked


@dataclass(frozen=True, slots=True)
class Token:
    """The token in an answer.

    If a part of the token cannot be read, the property for this part raises `Blocked` with the id of the check that
    reports the reason.
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
        """The token's header, parsed leniently: if a member appears twice, the last value counts."""
        try:
            value = reading.browser_json(self.compact.header.decode("utf-8-sig", "replace"))
        except reading.Unreadable:
            raise Blocked("jwt.alg") from None
        if not isinstance(value, dict):
            raise Blocked("jwt.alg")
        return value

    @property
    def claims(self) -> dict[str, object]:
        """The token's claims, parsed strictly."""
        try:
            return reading.strict_object(self.compact.payload)
        except reading.Unreadable:
            raise Blocked("jwt.payload") from None

    @property
    def uid(self) -> object:
        """The claim `uid`, which names the person."""
        return self.claims.get("uid")
