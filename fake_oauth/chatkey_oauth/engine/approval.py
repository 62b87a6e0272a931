"""Automatic approval without a consent page, for tests without a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatkey_oauth.engine.people import People, Person


class Approval:
    """Approves every authorization request as `account`, without a page. None turns automatic approval off."""

    def __init__(self, people: People, account: str | None = None) -> None:
        self._people = people
        self._initial = account
        self.account = account

    def person(self, hint: str) -> Person | None:
        """Return the person who approves, or None if automatic approval is off.

        If the login hint names a person, that person approves. Otherwise, the person with the id `account` approves.
        """
        if self.account is None:
            return None
        return self._people.find(hint) or self._people.get(self.account)

    def reset(self) -> None:
        self.account = self._initial
