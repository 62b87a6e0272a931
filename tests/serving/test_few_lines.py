"""Tests of the limit on log lines of one kind.

A burst must be logged, a flood must only be counted, and other kinds of lines must not be affected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from chatkey_serving.few_lines import AT_ONCE_SECONDS, REPORT_SECONDS, FewLines

PER_SECOND: Final = 2
AT_ONCE: Final = AT_ONCE_SECONDS * PER_SECOND


class Time:
    """A clock that stands still. It also records the calls that are scheduled for later."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[tuple[float, Callable[[], None]]] = []

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        self.calls.append((seconds, act))


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def told() -> list[tuple[str, int]]:
    return []


@pytest.fixture
def few(time: Time, told: list[tuple[str, int]]) -> FewLines:
    return FewLines(PER_SECOND, lambda *what: told.append(what), now=lambda: time.now, later=time.later)


def test_after_a_flood_lines_are_written_at_the_given_rate(few: FewLines, time: Time) -> None:
    for _ in range(300):
        few.admits("socket.refused")
    time.now = 1.0

    assert [few.admits("socket.refused") for _ in range(4)] == [True, True, False, False]


def test_one_report_says_how_many_lines_of_each_kind_were_left_out(
    few: FewLines, time: Time, told: list[tuple[str, int]]
) -> None:
    for kind in ("socket.refused", "agent.refused"):
        for _ in range(AT_ONCE + 5):
            few.admits(kind)

    [(seconds, report)] = time.calls
    report()

    assert seconds == REPORT_SECONDS
    assert told == [("socket.refused", 5), ("agent.refused", 5)]
    few.report()
    assert len(told) == 2


def test_a_traceback_counts_as_ten_lines(few: FewLines) -> None:
    assert [few.admits("request.failed", traceback=True) for _ in range(4)] == [True, True, False, False]


def test_zero_means_no_limit(time: Time) -> None:
    few = FewLines(0, lambda *_: None, now=lambda: time.now, later=time.later)

    assert all(few.admits("x", traceback=True) for _ in range(1000))
