"""Tests of the suite with our own server as the target. `tests/refusals` tests single cases and the server's logs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chatkey_conform.case import Case
from chatkey_conform.command import Wanted, run
from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.reports.exits import status
from chatkey_conform.running.outcome import Result
from chatkey_conform.running.runner import Run
from chatkey_conform.subject.world import World
from chatkey_conform.suite import cases
from chatkey_conform.target import read_target
from chatkey_peer.exits import Exit

if TYPE_CHECKING:
    from tests.conform.served import Served

TABLES = ("tokens", "proofs", "frames", "paths")
WHOLE = [
    "clock",
    "own-keys",
    "member-records",
    "businesses",
    "change",
    "search",
    "calls",
    "social:google",
    "social:github",
]


def judged(target: Path, wanted: Callable[[Case], bool] = lambda _: True) -> Result:
    """Judge a target with the cases that `wanted` selects."""
    with closing(World(read_target(target))) as world:
        return Run(world).judge([case for case in cases() if wanted(case)])


def is_brief(case: Case) -> bool:
    """Return whether a case is in a short run. A short run includes about one in fifty cases of the long tables."""
    return case.id.partition("/")[0] not in TABLES or hash_of(case.id) % 50 == 0


def hash_of(text: str) -> int:
    """Return a hash that is the same in every run."""
    return sum(map(ord, text))


def wrong(result: Result) -> list[tuple[str, str]]:
    """Return the failed cases and the internal errors of the suite, with their reasons."""
    return [(outcome.case.id, outcome.reason) for outcome in result.of(Verdict.FAILED, Verdict.ERROR)]


def absent(result: Result) -> set[str]:
    """Return the capabilities that some cases need and that the target does not declare."""
    reasons = [outcome.reason for outcome in result.of(Verdict.NOT_APPLICABLE)]
    return {reason.partition("not declared: ")[2].partition(" ")[0] for reason in reasons if "not declared" in reason}


@pytest.mark.long
def test_with_the_lab_nothing_fails_and_only_undeclared_cases_are_not_applicable(served: Served) -> None:
    result = judged(served.by_lab(), is_brief)

    assert wrong(result) == []
    assert absent(result) == {"social:apple", "social:x", "social:tiktok", "social:amazon"}
    assert {sentence.verdict for sentence in result.unjudged} <= {Verdict.NOT_RUN}  # rows that a short run leaves out
    assert len(result.of(Verdict.PASSED)) > 330


def test_with_an_adapter_command_every_case_is_judged_and_passes(served: Served) -> None:
    result = judged(served.by_command(name="command"), lambda case: case.id.startswith(BY_COMMAND))

    assert wrong(result) == []
    assert absent(result) == set()
    assert len(result.of(Verdict.PASSED)) == len(result.outcomes) > 12


BY_COMMAND = (
    "smoke/",
    "http/a-business-that-is-off",
    "http/a-change-is-seen",
    "exchange/an-identity-token-ends",
    "chat/a-custom-members-record",
)
"""Prefixes of cases that together use every verb of the adapter. They are few, because a verb starts a process."""


def is_short(case: Case) -> bool:
    """Return whether a case belongs to the short run and does not wait."""
    return is_brief(case) and case.id.partition("/")[0] not in {"opening", "staying"}


BY_HAND = [
    pytest.param(["search"], 1, {"businesses", "calls", "clock", "social:google"}, id="one"),
    pytest.param(
        ["search", "calls", "social:google", "social:github"],
        2,
        {"businesses", "clock"},
        id="two-with-social-logins",
        marks=pytest.mark.long,
    ),
    pytest.param([], 1, {"businesses", "calls", "search"}, id="nothing-declared", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("have", "count", "missing"), BY_HAND)
def test_with_businesses_made_by_hand_nothing_fails(
    served: Served, have: list[str], count: int, missing: set[str]
) -> None:
    result = judged(served.by_hand(count, have=have, name=f"hand-{count}-{len(have)}"), is_short)

    assert wrong(result) == []
    assert missing <= absent(result)
    assert len(result.of(Verdict.PASSED)) > 100
    assert status(result) is not Exit.FAILED


@pytest.mark.parametrize(("limits", "told"), [("oauth_rate = 60\ntoken_rate = 0", True), ("oauth_rate = 0", False)])
def test_a_run_says_first_that_it_waits_for_a_limit(
    served: Served, capsys: pytest.CaptureFixture[str], limits: str, told: bool
) -> None:
    target = served.by_hand(1, have=[], limits=limits, name="limited")

    assert run(Wanted(target, words="the-configuration-is-answered")) is Exit.CLEAN

    assert ("waits for the limit of 60 logins a minute" in capsys.readouterr().out.partition("smoke/")[0]) == told


def test_a_wrong_secret_is_reported_before_the_smoke_test(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = served.by_hand(1, have=[], name="wrong-secret")
    right = run(Wanted(target, smoke=True))
    monkeypatch.setenv("CONFORM_SECRET_0", "the-secret-of-another-business-of-32-bytes")

    assert (right, run(Wanted(target, smoke=True))) == (Exit.CLEAN, Exit.NOT_STARTED)
    assert "from CONFORM_SECRET_0 is not the secret of the service" in capsys.readouterr().err
