"""Tests of the catalogue of checks: its completeness, its order, and its texts."""

from __future__ import annotations

import pkgutil

import pytest

from chatkey_check import checks
from chatkey_check.judging.check import Check
from chatkey_check.model import GROUPS

ALL = checks.load()
each_check = pytest.mark.parametrize("check", ALL, ids=lambda check: check.id)


def test_the_modules_are_exactly_the_checks_of_the_catalogue() -> None:
    modules = {module.name for module in pkgutil.iter_modules(checks.__path__)}

    assert modules >= set(map(checks.module_name, checks.ORDER))
    assert modules <= set(map(checks.module_name, checks.ORDER))


def test_the_checks_come_in_order_each_once_and_by_groups() -> None:
    groups = [check.group for check in ALL]

    assert [check.id for check in ALL] == list(checks.ORDER)
    assert len(set(checks.ORDER)) == len(checks.ORDER)
    assert groups == sorted(groups, key=GROUPS.index)


@each_check
def test_a_check_says_what_it_sends_what_passes_why_and_what_to_change(check: Check) -> None:
    assert check.sent
    assert check.passes
    assert check.why.endswith(".")
    assert check.hint.endswith((".", ")."))


@each_check
def test_the_needs_of_a_check_exist_and_contain_no_cycle(check: Check) -> None:
    assert set(check.needs) <= set(checks.ORDER)
    assert check.id not in needed(check, set())


def needed(check: Check, seen: set[str]) -> set[str]:
    """Return the ids of all checks on which a check depends, directly or indirectly."""
    for name in set(check.needs) - seen:
        seen.add(name)
        needed(checks.load_one(name), seen)
    return seen


def test_an_unknown_id_is_refused() -> None:
    with pytest.raises(KeyError):
        checks.load_one("claim.nothing")
