"""Approval without a page, for those who test without a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatkey_oauth.engine.people import People, Person


class Approval:
    """Who approves every authorization request unasked: an account, or nobody."""

    def __init__(self, people: People, account: str | None = None) -> None:
        self._people = people
        self._initial = account
        self.account = account

    def person(self, hint: str) -> Person | None:
        """Whom the login hint means, or the account; None: the consent page asks."""
        if self.account is None:
            return None
        return self._people.find(hint) or self._people.get(self.account)

    def reset(self) -> None:
        """Return to how it was at start."""
        self.account = self._initial
