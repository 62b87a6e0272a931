"""Automatic approval without a consent page, for tests without a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatkey_oauth.engine.people import People, Person


class Approval:
    """Approves every authorization request as `account`, without asking. Off if `account` is None."""

    def __init__(self, people: People, account: str | None = None) -> None:
        self._people = people
        self._initial = account
        self.account = account

    def person(self, hint: str) -> Person | None:
        """Return the person who approves: the one the login hint names, otherwise the account. None if automatic
        approval is off.
        """
        if self.account is None:
            return None
        return self._people.find(hint) or self._people.get(self.account)

    def reset(self) -> None:
        """Restore the initial setting."""
        self.account = self._initial
