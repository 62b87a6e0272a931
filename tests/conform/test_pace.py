"""Tests of how the suite handles rate limits.

The suite must repeat a request when `Retry-After` allows this. It must not report a 429 as a failure.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from chatkey_conform.grades.business import HarnessError
from chatkey_conform.subject.answer import Answer
from chatkey_conform.subject.pace import TRIES, Pace
from chatkey_conform.subject.peer import SECOND, Rhythm


def answer(status: int, **headers: str) -> Answer:
    return Answer("GET /", status, httpx.Headers({name.replace("_", "-"): text for name, text in headers.items()}), b"")


class Rated:
    """An endpoint that answers 429 `refusals` times and then 200."""

    def __init__(self, refusals: int) -> None:
        self.answers: Iterator[int] = iter([429] * refusals + [200] * 100)
        self.asked = 0

    def __call__(self) -> Answer:
        self.asked += 1
        status = next(self.answers)
        return answer(status, retry_after="0") if status == 429 else answer(status)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threading.Event.wait", lambda *_: True)


def test_a_request_refused_as_too_early_is_repeated() -> None:
    rated = Rated(refusals=3)

    assert Pace().keep(rated).status == 200
    assert rated.asked == 4


def test_many_requests_at_once_all_succeed() -> None:
    rated, pace = Rated(refusals=TRIES), Pace()

    assert {pace.keep(rated).status for _ in range(20)} == {200}


def test_a_rate_limit_that_never_lets_a_request_through_is_an_error_of_the_run() -> None:
    with pytest.raises(HarnessError, match="still answered with 429"):
        Pace().keep(Rated(refusals=50))


def test_a_429_without_retry_after_is_an_ordinary_answer() -> None:
    assert Pace().keep(lambda: answer(429)).status == 429
    assert Pace().keep(lambda: answer(429, retry_after="soon")).status == 429


def test_a_retry_after_that_is_too_long_ends_the_run_without_a_verdict() -> None:
    with pytest.raises(HarnessError, match="is 3600 s"):
        Pace().keep(lambda: answer(429, retry_after="3600"))


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("7", 7), ("Mon, 23 Nov 2026 10:00:09 GMT", 9), ("Mon, 23 Nov 2026 09:59:00 GMT", 0), ("", None), ("7.5", None)],
)
def test_retry_after_is_a_number_of_seconds_or_a_date(told: str, seconds: float | None) -> None:
    asked = answer(429, retry_after=told, date="Mon, 23 Nov 2026 10:00:00 GMT")

    assert asked.retry_after == seconds


def test_frames_are_not_sent_faster_than_the_service_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("threading.Event.wait", lambda _, seconds: waits.append(seconds))
    slow, free = Rhythm(2), Rhythm(0)

    for _ in range(5):
        slow.keep()
        free.keep()

    assert len(waits) == 3
    assert all(0.5 < seconds <= SECOND for seconds in waits)
