"""Tests of the checker with every mutant and every correct endpoint."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from tests.check.mutants import self_test
from tests.check.mutants.mutant_backend import BROKEN, UNUSUAL
from tests.check.mutants.mutant_server import Server
from tests.check.mutants.self_test import Mutant, Oddity

from chatkey_check import checks
from chatkey_check.judging.check import Check
from chatkey_check.judging.findings import passed

pytestmark = pytest.mark.long

MUTANTS = self_test.mutants()
ODDITIES = self_test.oddities()
FOUND_WITH_ONE_LOGIN = {
    *("anon-500", "anon-hangs-up", "anon-login-redirect", "anon-login-html", "anon-guest", "anon-first-user"),
    *("shared-jkt", "shared-user", "crashes-when-busy", "uid-from-body", "anonymous-names-user", "any-cookie"),
}
CLOSED = {
    *("WrongPassword", "WrongPasswordFormAgain", "LoginWithSecondFactor", "LoginWithCaptcha", "LoginNeedsCsrf"),
    *("LoginOnOtherMachine", "LoginIsAScript"),
}
"""The endpoints to which the checker cannot log in."""
PUBLIC_KEYS = {"key-none", "key-undefined", "key-empty", "key-pid", "key-placeholder"}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.id)
def test_a_broken_endpoint_is_caught_by_its_check_and_by_no_earlier_one(mutant: Mutant, mutant_server: Server) -> None:
    report = self_test.judge(mutant_server, mutant.id)

    assert not self_test.complaint(mutant, report)
    assert [outcome.check.id for outcome in report.outcomes] == list(checks.ORDER)


@pytest.mark.parametrize("oddity", ODDITIES, ids=lambda oddity: oddity.id)
def test_an_unusual_endpoint_that_is_right_passes_clean(oddity: Oddity, mutant_server: Server) -> None:
    report = self_test.judge(mutant_server, oddity.id)

    assert not self_test.odd_complaint(oddity, report)


@pytest.mark.parametrize("oddity", ODDITIES, ids=lambda oddity: oddity.id)
def test_an_unusual_endpoint_passes_without_secret_and_second_login(oddity: Oddity, mutant_server: Server) -> None:
    report = self_test.judge(mutant_server, oddity.id, knowing=lambda full: replace(full, login_b=None, secret=None))

    ends = "nothing-judged" if oddity.id in CLOSED else "not-all-judged"
    assert not self_test.odd_complaint(replace(oddity, ends=ends), report)


@pytest.mark.parametrize("mutant", [one for one in MUTANTS if one.id in FOUND_WITH_ONE_LOGIN], ids=lambda one: one.id)
def test_a_broken_endpoint_is_caught_by_its_check_without_a_second_login(mutant: Mutant, mutant_server: Server) -> None:
    report = self_test.judge(mutant_server, mutant.id, knowing=lambda full: replace(full, login_b=None))

    assert not self_test.complaint(mutant, report)


@pytest.mark.parametrize("mutant", [one for one in MUTANTS if one.id in PUBLIC_KEYS], ids=lambda one: one.id)
def test_a_publicly_known_key_is_found_without_the_secret(mutant: Mutant, mutant_server: Server) -> None:
    report = self_test.judge(mutant_server, mutant.id, knowing=lambda full: replace(full, secret=None))

    assert not self_test.complaint(mutant, report)


@pytest.mark.parametrize("check_id", [check_id for check_id in checks.ORDER if not check_id.startswith("e2e.")])
def test_a_check_that_is_switched_off_makes_the_self_test_fail(check_id: str, mutant_server: Server) -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.caught_by == (check_id,))

    report = self_test.judge(mutant_server, mutant.id, switched_off(check_id))

    assert self_test.complaint(mutant, report)


def switched_off(check_id: str) -> tuple[Check, ...]:
    """Return all checks. The named check is replaced by one that always passes."""
    return tuple(replace(check, judge=lambda _: passed()) if check.id == check_id else check for check in checks.load())


def test_the_listed_mutants_are_exactly_those_in_the_code() -> None:
    assert {mutant.id for mutant in MUTANTS} == BROKEN.keys()
    assert {oddity.id for oddity in ODDITIES} == UNUSUAL.keys()
    assert [name for name, times in Counter(mutant.id for mutant in self_test.all_mutants()).items() if times > 1] == []
