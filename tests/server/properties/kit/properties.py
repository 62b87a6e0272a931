"""Defines properties. A property has inputs that somebody might send, and a check that every input must pass."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import given, seed, settings
from hypothesis.strategies import SearchStrategy
from tests.server.properties.kit.second_service import ask

from chatkey_server.identity.errors import Refused

ACCEPTED: Final = "accepted"
REFUSED: Final = "refused"
ALSO: Final[Mapping[str | None, frozenset[str]]] = {
    "token_malformed": frozenset({"token_alg", "token_header", "token_claims", "token_signature"}),
    "token_claims": frozenset({"proof_binding_missing"}),
    "proof_malformed": frozenset({"proof_typ", "proof_alg", "proof_jwk"}),
}
"""Codes that may come instead of the service in Node's, if an input has two faults: the pages leave the order open."""


@dataclass(frozen=True)
class Property:
    """A property. `check` takes one input, returns a word for the outcome, and raises AssertionError on failure."""

    name: str
    inputs: SearchStrategy[Any]
    check: Callable[[Any], str]
    both: bool = True
    """Whether the inputs include both accepted and refused ones."""

    def try_out(self, number: int, examples: int) -> Counter[str]:
        """Try `examples` inputs and count the outcomes. The same seed `number` gives the same inputs.

        If the property fails, this method raises the error of `check` for the smallest failing input, with a note.
        """
        seen: Counter[str] = Counter()

        @seed(number)
        @settings(max_examples=examples, database=None)
        @given(self.inputs)
        def holds(case: Any) -> None:
            seen[self.check(case)] += 1

        holds()
        return seen


def agree(ours: Callable[[], object], about: str, **asked: Any) -> str:
    """Check that the server and the service in Node agree about an input.

    Both must return the same answer, or refuse the input with the same code.
    """
    there = ask(about, **asked)
    here: dict[str, Any]
    try:
        here = {"answer": ours()}
    except Refused as refused:
        here = {"refused": str(refused.code)}
    same = json.dumps(here, sort_keys=True) == json.dumps(there, sort_keys=True)
    assert same or here.get("refused") in ALSO.get(there.get("refused"), ()), f"{here} here, {there} in Node"
    return str(here.get("refused", ACCEPTED))
