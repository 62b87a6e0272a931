"""Each sentence of the contract needs a test or a stated reason. Tests may only name existing sentences."""

from collections import Counter

import pytest
from tools import contract

ENTRIES = contract.entries()
MARKED = contract.marked_tests()


def test_ids_are_unique_and_levels_known() -> None:
    twice = [entry_id for entry_id, count in Counter(entry.id for entry in ENTRIES).items() if count > 1]

    assert not twice
    assert {entry.level for entry in ENTRIES} <= set(contract.LEVELS)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_every_sentence_has_a_test_or_a_reason(entry: contract.Entry) -> None:
    shown = entry.id in MARKED

    assert shown or entry.reason, f"{entry.id} has neither a test nor a reason: {entry.text}"
    assert not (shown and entry.reason), f"{entry.id} has tests and still a reason for having none: drop the reason"


def test_no_test_names_an_unknown_id() -> None:
    unknown = MARKED.keys() - {entry.id for entry in ENTRIES}

    assert not {entry_id: MARKED[entry_id] for entry_id in unknown}
