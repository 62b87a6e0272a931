"""Tests of allowances. An allowance must refill evenly. Several charges must be taken together or not at all."""

from __future__ import annotations

import pytest

from chatkey_server.identity.errors import RateLimited
from chatkey_server.limits.allowances import Allowances, Charge, give_all_back, take_all

NOW = 1_800_000_000.0


def taken(allowances: Allowances, name: str, now: float = NOW) -> bool:
    if allowances.wait(name, 1, now):
        return False
    allowances.take(name, 1, now)
    return True


def test_a_part_of_the_allowance_is_available_at_once_and_the_rest_evenly() -> None:
    a_day = Allowances(240, 86_400, at_once=10)

    at_once = [taken(a_day, "ann") for _ in range(11)]

    assert at_once == [True] * 10 + [False]
    assert a_day.wait("ann", 1, NOW) == pytest.approx(360)
    assert [taken(a_day, "ann", NOW + 361) for _ in range(2)] == [True, False]


def test_a_charge_above_the_maximum_waits_for_a_full_allowance() -> None:
    small = Allowances(100, 60)

    assert small.wait("ann", 5000, NOW) == 0

    small.take("ann", 5000, NOW)
    assert small.wait("ann", 1, NOW) == pytest.approx(0.6)
    assert small.wait("ann", 5000, NOW) == pytest.approx(60)


def test_a_returned_charge_can_be_taken_again() -> None:
    one = Allowances(1, 60)
    one.take("ann", 1, NOW)

    one.give_back("ann", 1)

    assert taken(one, "ann")
    assert not taken(one, "ann")


def test_zero_means_no_limit() -> None:
    none = Allowances(0, 60)

    assert all(taken(none, "ann") for _ in range(1000))


def test_the_number_of_names_is_bounded_and_unused_allowances_are_dropped_first() -> None:
    allowances = Allowances(1, 60, most_names=10)
    for number in range(9):
        allowances.take(f"early {number}", 1, NOW)
    allowances.take("ann", 1, NOW + 60)

    for number in range(5):
        allowances.take(f"late {number}", 1, NOW + 60)

    assert len(allowances._whole_at) <= 10
    assert allowances.wait("ann", 1, NOW + 60) == pytest.approx(60)


def test_many_new_names_use_bounded_memory() -> None:
    allowances = Allowances(1, 60, most_names=10)

    for number in range(1000):
        allowances.take(f"name {number}", 1, NOW)

    assert len(allowances._whole_at) <= 10


def test_several_charges_are_taken_together_or_not_at_all() -> None:
    wide, narrow = Allowances(10, 60), Allowances(1, 60)
    charges = [Charge(wide, "house", 1, "The house is full"), Charge(narrow, "ann", 1, "Ann is full")]
    take_all(charges, NOW)

    with pytest.raises(RateLimited, match=r"Ann is full; try again in 60 s\.") as refused:
        take_all(charges, NOW)

    assert refused.value.retry_after == 60
    assert [taken(wide, "house") for _ in range(10)] == [True] * 9 + [False]


def test_charges_that_are_given_back_leave_nothing() -> None:
    allowances = Allowances(1, 60)
    charges = [Charge(allowances, "ann", 1, "Ann is full")]
    take_all(charges, NOW)

    give_all_back(charges)

    take_all(charges, NOW)
