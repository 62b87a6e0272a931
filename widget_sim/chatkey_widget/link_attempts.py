"""Counts consecutive failures and refusals of the connection, and computes the wait before the next attempt (D-10)."""

from typing import Final

from chatkey_widget.backoff import full_jitter
from chatkey_widget.context import Chance
from chatkey_widget.link_outcomes import Refused
from chatkey_widget.link_stages import Greeting, Loading, OnSocket, Opening, Proving, Stage

UNREACHABLE_AFTER: Final = 3
"""The number of consecutive failures after which the service is reported as unreachable."""

EARLY_ATTEMPTS: Final = 3
"""The number of attempts after a lost connection that have a shorter timeout."""

REFUSALS_BORNE: Final = 2
"""The number of consecutive refusals after which the widget stops requesting tokens from the service."""


EXPIRIES_BORNE: Final = 5
"""The number of expired tokens in a row, without a stable connection, after which another one is not worth it."""


class Attempts:
    """Counts that are reset independently: consecutive failures, and consecutive refusals and expiries."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self.failures = 0
        self._is_told = False
        self._refusals = 0
        self._expiries = 0

    @property
    def is_early(self) -> bool:
        """Whether this is one of the first attempts after a failure."""
        return 0 < self.failures <= EARLY_ATTEMPTS

    def connected(self) -> None:
        """Reset the count of failures: the server has accepted a token, or another identity is about to connect."""
        self.failures = 0
        self._is_told = False

    def forgive(self) -> None:
        self._refusals = self._expiries = 0

    def failed(self, lost: Stage | OnSocket, *, base: float = 1.0) -> float:
        """Count a failure at this stage, and return the seconds to wait.

        If the page resumed during the attempt, the wait is short.
        """
        self.failures += 1
        fraction = self._chance.fraction()
        woken = isinstance(lost, Loading | Opening | Greeting | Proving) and lost.woken
        return fraction if woken else full_jitter(self.failures, fraction=fraction, base=base)

    def is_worth_telling(self) -> bool:
        """Return whether to report now that the service is unreachable. The widget reports this only once."""
        is_due = self.failures >= UNREACHABLE_AFTER and not self._is_told
        self._is_told |= is_due
        return is_due

    def refused(self, refused: Refused) -> bool:
        """Count a refusal. Return whether the widget should try another token.

        A token may just have expired, so more refusals of expired tokens are accepted.
        """
        self._refusals += not refused.expired
        self._expiries += refused.expired
        return self._refusals < REFUSALS_BORNE and self._expiries < EXPIRIES_BORNE
