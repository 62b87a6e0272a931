"""Tests of the terminal output."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from chatkey_check import checks
from chatkey_check.command.screen import Screen
from chatkey_check.command.terminal import Terminal
from chatkey_check.model import Evidence, Outcome, Report, Verdict

SEEN = Evidence("a normal call", "curl -i http://127.0.0.1:1/chat/token", "HTTP 200\n\n{}", 0.012)


SPECIAL: dict[str, dict[str, Any]] = {
    "jwt.alg": {"verdict": Verdict.FAIL, "message": "alg is none.", "hint": "Sign with HS256.", "evidence": (SEEN,)},
    "jwt.signature": {"verdict": Verdict.BLOCKED, "blocked_by": "jwt.alg"},
    "claim.pid": {
        "verdict": Verdict.FAIL,
        "message": "pid is [bold]wrong[/].",
        "hint": "Set pid.",
        "evidence": (SEEN,),
    },
    "claim.avatar": {"verdict": Verdict.FAIL, "message": "avatar is relative.", "hint": "x", "known": "lab pictures"},
    "resp.no-store": {"verdict": Verdict.WARN, "message": "Cache-Control is missing.", "hint": "Send no-store."},
    "anon.after-logout": {"verdict": Verdict.SKIP, "message": "it takes an address", "option": "--logout-url URL"},
}


def outcome(check_id: str) -> Outcome:
    members: dict[str, Any] = {"verdict": Verdict.PASS, "message": "seen", **SPECIAL.get(check_id, {})}
    return Outcome(checks.load_one(check_id), **members)


def outcome_passed(check_id: str) -> Outcome:
    return Outcome(checks.load_one(check_id), Verdict.PASS)


REPORT = Report(
    "http://x", {}, {}, "", 0.5, 0.0, {"": 63}, None, tuple(map(outcome, checks.ORDER)), ("x.y: it passes now",)
)


@pytest.fixture(autouse=True)
def no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def shown(*, terminal: bool, verbose: bool = False, encoding: str = "utf-8", report: Report = REPORT) -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="strict", newline="\n")
    screen = Terminal(Screen(file, width=100, live=terminal), total=len(checks.ORDER), verbose=verbose)
    screen.end(report)
    file.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("terminal", [True, False])
def test_the_first_failure_comes_last_with_its_call_on_one_line(terminal: bool) -> None:
    text = shown(terminal=terminal)

    first, _, cause = text.partition("start here, details below")
    assert "jwt.alg" in first.splitlines()[-1]
    assert text.count("alg is none.") == 1
    assert "  curl -i http://127.0.0.1:1/chat/token\n" in cause
    assert cause.index("claim.pid") < cause.index("alg is none.")


@pytest.mark.parametrize("terminal", [True, False])
def test_the_page_of_the_cause_is_offered(terminal: bool) -> None:
    assert "  More about this check: chatkey check --explain jwt.alg\n" in shown(terminal=terminal)


def test_a_pipe_gets_findings_and_the_summary_only() -> None:
    text = shown(terminal=False)

    assert "Preconditions" not in text
    assert "net.tls" not in text
    assert "resp.no-store" in text
    assert "58 passed   3 failed" not in text
    assert text.splitlines()[-2].endswith("63 requests in 0.5 s")


@pytest.mark.parametrize("terminal", [True, False])
def test_the_verdict_is_the_first_line_and_the_last(terminal: bool) -> None:
    lines = [line for line in shown(terminal=terminal).splitlines() if line.strip()]

    assert lines[0] == lines[-1] == "✗ jwt.alg: alg is none, and 1 more failure, 2 not judged  http://x"


@pytest.mark.parametrize("terminal", [True, False])
def test_an_unreachable_endpoint_takes_three_lines(terminal: bool) -> None:
    found: dict[str, Any] = {
        "verdict": Verdict.FAIL,
        "message": "Nothing is listening on x:1.",
        "hint": "Start the backend.",
    }
    outcomes = (
        replace(outcome("net.resolves"), **found),
        *(Outcome(checks.load_one(name), Verdict.BLOCKED, blocked_by="net.resolves") for name in checks.ORDER[1:]),
    )

    text = shown(terminal=terminal, report=replace(REPORT, outcomes=outcomes, stale=()))

    assert [line.rstrip() for line in text.splitlines() if line.strip()] == [
        "✗ The endpoint cannot be reached  http://x",
        "  Nothing is listening on x:1.",
        "  → Start the backend.",
    ]


def test_an_unjudged_check_is_shown_with_the_reason() -> None:
    limited = Outcome(checks.load_one("claim.uid"), Verdict.SKIP, "the endpoint limits the rate of calls (429")
    outcomes = tuple(
        limited if one.check.id == "claim.uid" else outcome_passed(one.check.id) for one in REPORT.outcomes
    )

    lines = shown(terminal=False, report=replace(REPORT, outcomes=outcomes, stale=())).splitlines()

    assert lines[0].startswith("○ Incomplete: 1 necessary check could not be judged")
    assert lines[lines.index("  Not judged") + 1].split("  ")[2:] == [
        "the endpoint limits the rate of calls (429",
        "claim.uid",
    ]


def test_a_terminal_gets_one_line_per_group() -> None:
    text = shown(terminal=True)

    assert "Preconditions" in text
    assert "✓✓✓✓✓✓   6 passed" in text


def test_every_check_has_a_line_if_that_was_asked_for() -> None:
    text = shown(terminal=False, verbose=True)

    assert all(check_id in text for check_id in checks.ORDER)
    assert "jwt.signature  see jwt.alg first" in text
    assert "anon.after-logout  it takes an address (--logout-url URL)" in text


def test_findings_are_not_interpreted_as_markup() -> None:
    assert "pid is [bold]wrong[/]." in shown(terminal=True)


def test_known_failures_say_why_and_entries_that_are_not_needed_are_named() -> None:
    text = shown(terminal=False)

    assert "claim.avatar  known: lab pictures" in text
    assert "known failures: x.y: it passes now" in text


def test_options_that_would_allow_more_are_named() -> None:
    assert "--logout-url URL  anon.after-logout" in shown(terminal=False)


def test_a_terminal_without_unicode_gets_plain_marks() -> None:
    text = shown(terminal=False, verbose=True, encoding="latin-1")

    assert "x claim.pid" in text
    assert "-> Set pid." in text


@pytest.mark.parametrize(("variable", "coloured"), [("FORCE_COLOR", True), ("NO_COLOR", False)])
def test_colours_follow_the_environment(monkeypatch: pytest.MonkeyPatch, variable: str, coloured: bool) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "1")

    assert ("\x1b[31m" in shown(terminal=False)) is coloured


def test_an_endpoint_cannot_control_the_terminal() -> None:
    raw = io.StringIO()

    Screen(raw, live=True).say("a\x1b[2Jb\rc\x9bd", ("\x07e", "dim"))

    assert raw.getvalue() == "a[2Jbcde\n"


def test_the_progress_bar_is_replaced_and_removed() -> None:
    raw = io.StringIO()
    screen = Screen(raw, width=80, live=True)

    screen.progress(1, 4, "jwt.alg")
    screen.progress(2, 4, "claim.pid")
    screen.say("done")

    first, second, last = raw.getvalue().removeprefix("\r\x1b[2K").split("\r\x1b[2K")
    assert first == f"  {'━━━━━━'.ljust(24)} 1/4 jwt.alg"
    assert second.endswith(" 2/4 claim.pid")
    assert last == "done\n"
