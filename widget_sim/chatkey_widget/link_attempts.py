"""Counts the link's consecutive failures and refusals, and computes the time before the next attempt (D-10)."""

from typing import Final

from chatkey_widget.backoff import full_jitter
from chatkey_widget.context import Chance
from chatkey_widget.link_outcomes import Refused
from chatkey_widget.link_stages import Greeting, Loading, OnSocket, Opening, Proving, Ready, Stage

UNREACHABLE_AFTER: Final = 3
"""After this many consecutive failures, the service is reported as unreachable."""

EARLY_ATTEMPTS: Final = 3
"""This many attempts after a lost connection have a shorter timeout: the network just worked, or is down."""

REFUSALS_BORNE: Final = 2
"""After this many consecutive refusals, no further token from our own endpoints is tried."""


class Attempts:
    """Two counts: consecutive failures and consecutive refusals. Each is reset on its own."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self.failures = 0
        self._refusals = 0

    @property
    def is_early(self) -> bool:
        """Whether this is one of the first attempts after a failure."""
        return 0 < self.failures <= EARLY_ATTEMPTS

    def connected(self) -> None:
        """Reset the failures: a token was accepted, or another identity is about to connect."""
        self.failures = 0

    def forgive(self) -> None:
        """Reset the refusals."""
        self._refusals = 0

    def failed(self, lost: Stage | OnSocket, *, base: float = 1.0) -> float:
        """Count a failure at this stage. Returns the seconds to wait: few, if the page woke up meanwhile."""
        self.failures += 1
        fraction = self._chance.fraction()
        woken = isinstance(lost, Loading | Opening | Greeting | Proving) and lost.woken
        return fraction if woken else full_jitter(self.failures, fraction=fraction, base=base)

    def is_worth_telling(self, lost: Stage | OnSocket) -> bool:
        """Return whether to report the service as unreachable: once, and not if a connection was just lost."""
        return self.failures == UNREACHABLE_AFTER and not isinstance(lost, Ready)

    def refused(self, refused: Refused) -> bool:
        """Count a refusal, unless the token just expired. Return whether another token is worth trying."""
        self._refusals += not refused.expired
        return self._refusals < REFUSALS_BORNE
