"""How often the link failed or was refused in a row, and how long it waits before it tries again (D-10)."""

from typing import Final

from chatkey_widget.backoff import full_jitter
from chatkey_widget.context import Chance
from chatkey_widget.link_outcomes import Refused
from chatkey_widget.link_stages import Greeting, Loading, OnSocket, Opening, Proving, Ready, Stage

UNREACHABLE_AFTER: Final = 3
"""Failures in a row after which the service counts as unreachable."""

EARLY_ATTEMPTS: Final = 3
"""So many attempts after a lost connection are given up early: the network is the one that just worked, or is down."""

REFUSALS_BORNE: Final = 2
"""Refusals in a row after which no further token of ours is tried."""


class Attempts:
    """Two counts, of which each success forgets what it makes good."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self.failures = 0
        self._refusals = 0

    @property
    def is_early(self) -> bool:
        """Whether this is one of the first attempts after a failure."""
        return 0 < self.failures <= EARLY_ATTEMPTS

    def connected(self) -> None:
        """A token was accepted, or another person is to be connected: failures begin anew."""
        self.failures = 0

    def forgive(self) -> None:
        """Forget the refusals."""
        self._refusals = 0

    def failed(self, lost: Stage | OnSocket, *, base: float = 1.0) -> float:
        """Count a failure at this stage; return the seconds to wait. Short, if the page woke up during the attempt."""
        self.failures += 1
        fraction = self._chance.fraction()
        woken = isinstance(lost, Loading | Opening | Greeting | Proving) and lost.woken
        return fraction if woken else full_jitter(self.failures, fraction=fraction, base=base)

    def is_worth_telling(self, lost: Stage | OnSocket) -> bool:
        """Tell whether it is time to say that the service is unreachable: once, and not of a connection that stood."""
        return self.failures == UNREACHABLE_AFTER and not isinstance(lost, Ready)

    def refused(self, refused: Refused) -> bool:
        """Count a refusal; tell whether another token is worth trying. One that merely ended does not count."""
        self._refusals += not refused.expired
        return self._refusals < REFUSALS_BORNE
