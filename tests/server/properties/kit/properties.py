"""Defines properties: inputs that somebody might send, and a check that holds for each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import SearchStrategy
from tests.server.properties.kit.strict_tokens import Judgement

from chatkey_server.identity.errors import Refused

ACCEPTED: Final = "accepted"
REFUSED: Final = "refused"


@dataclass(frozen=True)
class Property:
    """A property. `check` takes one input, returns what happened, and raises AssertionError if the property fails."""

    name: str
    inputs: SearchStrategy[Any]
    check: Callable[[Any], str]
    both: bool = True
    """Whether the inputs include both accepted and refused ones."""

    def try_out(self, number: int, examples: int) -> Counter[str]:
        """Try `examples` inputs and count what happened. The same seed `number` gives the same inputs.

        If the property fails, raises the error of `check` for the smallest failing input, with a note.
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
    """Check that the server refuses exactly what the reference refuses, with the code of a fault that is present."""
    try:
        call()
    except Refused as refused:
        assert judgement.faults, f"refused without a fault: {refused} (cause: {refused.cause})"
        assert refused.code in judgement.faults, f"{refused}, but the faults are {sorted(judgement.faults)}"
        return str(refused.code)
    assert not judgement.faults, f"accepted in spite of {sorted(judgement.faults)}"
    return ACCEPTED
