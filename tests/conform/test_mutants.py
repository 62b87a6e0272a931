"""Tests of the suite with our server, with one fault at a time in the server's code."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tools.conform_mutants import HIDDEN, families, hidden, judged, near_to, served
from tools.mutants import copied, mutants

BROKEN = {
    "forget exp": ("2.4/exp", "tokens"),
    "skip the signature": ("5.5/proof-matches", "proofs"),
    "refresh as somebody else": ("D-10/refresh", "staying"),
    "exchange for any key": ("D-07/bound-identity", "exchange"),
    "the last of two parameters counts": ("D-03/parameter-400", "http"),
    "redirect for any origin": ("4.4/origin-checked", "start"),
}
"""For each mutant, a sentence of the contract that the mutant breaks, and the family of cases that must detect the
fault.
"""


def test_every_mutant_listed_as_hidden_exists_and_has_one_reason() -> None:
    entries = tomllib.loads(HIDDEN.read_text())["hidden"]
    names = [name for entry in entries for name in entry["names"]]

    assert set(names) <= {mutant.name for mutant in mutants()}
    assert len(names) == len(set(names)) == len(hidden())
    assert all(entry["reason"].endswith(".") for entry in entries)


def test_the_families_assigned_to_a_mutant_exist() -> None:
    known = {case.id.partition("/")[0] for case in families(())}

    assert {key for mutant in mutants() for key in near_to(mutant)} <= known
    assert near_to(mutants()[0]) == ("tokens", "visitors", "exchange")


@pytest.mark.long
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_service_is_named(tmp_path: Path, name: str) -> None:
    sentence, family = BROKEN[name]
    (mutant,) = [mutant for mutant in mutants() if mutant.name == name]

    with copied(mutant) as copy, served(copy, tmp_path) as target:
        result = judged(target, families([family]))

    assert sentence in [failed.id for failed in result.failed]
    assert {outcome.case.id.partition("/")[0] for outcome in result.outcomes if outcome.verdict == "failed"} == {family}
