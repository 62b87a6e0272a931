"""What a property is: inputs that somebody might send, and a check that holds for every one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import SearchStrategy

from chatkey_server.identity.errors import Refused
from strict_tokens import Judgement

ACCEPTED: Final = "accepted"
REFUSED: Final = "refused"


@dataclass(frozen=True)
class Property:
    """`check` gets one input, raises AssertionError where the property does not hold, and else tells what happened."""

    name: str
    inputs: SearchStrategy[Any]
    check: Callable[[Any], str]
    both: bool = True
    """Whether inputs are of both kinds, such that are accepted and such that are refused."""

    def try_out(self, number: int, examples: int) -> Counter[str]:
        """Try that many inputs, the same ones for the same seed, and count what happened.

        Where the property does not hold, what `check` raised is raised for the smallest such input, with a note on it.
        """
        seen: Counter[str] = Counter()

        @seed(number)
        @settings(max_examples=examples, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(self.inputs)
        def holds(case: Any) -> None:
            seen[self.check(case)] += 1

        holds()
        return seen


def agrees(judgement: Judgement, call: Callable[[], object]) -> str:
    """Check that the server refuses what the reference refuses, for a fault that is there, and nothing else."""
    try:
        call()
    except Refused as refused:
        assert judgement.faults, f"refused without a fault: {refused} (cause: {refused.cause})"
        assert refused.code in judgement.faults, f"{refused}, but the faults are {sorted(judgement.faults)}"
        return str(refused.code)
    assert not judgement.faults, f"accepted in spite of {sorted(judgement.faults)}"
    return ACCEPTED
