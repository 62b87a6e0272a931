"""Tests that no output contains a command for a CI runner, whatever the endpoint answers."""

from __future__ import annotations

import io
import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.check.mutants.made_reports import report

from chatkey_check import checks, reports
from chatkey_check.command.screen import Screen
from chatkey_check.command.terminal import Terminal
from chatkey_check.evidence.masks import Masks
from chatkey_check.model import Evidence, Report, Verdict

COMMANDS = ("::error::x", "::add-mask::x", "::stop-commands::x", "##[error]x", "##vso[task.x]", "##teamcity[x]", "::")
EXECUTED = re.compile(r"^\s*::|##\w*\[")
"""The lines that GitHub's, Azure's and TeamCity's runners execute. They ignore space before `::`."""
PIECES = st.sampled_from([*COMMANDS, "\n", "\r\n", "\t", "\r", "\x0b", "\x1b[0m", "\u2028", " ", "#", ":", "|", "ok"])


def told(text: str) -> Report:
    """Return a report that has this text of the endpoint wherever an endpoint can place text."""
    shown = Masks().masked(text)
    seen = Evidence(shown, f"curl {shown}", f"HTTP 200\n\n{shown}", 0.01)
    found: dict[str, Any] = {
        "verdict": Verdict.FAIL,
        "message": shown,
        "hint": shown,
        "evidence": (seen,),
        "files": (shown,),
    }
    left = {"verdict": Verdict.SKIP, "message": shown, "option": shown}
    warned = {"verdict": Verdict.WARN, "message": shown, "hint": shown}
    about: dict[str, Any] = {"target": f"http://x/{shown}", "options": {"--header": shown}, "stale": (shown,)}
    passed = {"verdict": Verdict.PASS, "message": shown}
    outcomes: dict[str, dict[str, Any]] = {
        "claim.uid": found,
        "claim.pid": warned,
        "claim.nbf": left,
        "claim.iat": passed,
    }
    return report(outcomes, **about)


def printed(made: Report, *, verbose: bool, width: int | None) -> str:
    file = io.StringIO()
    Terminal(Screen(file, width=width), total=len(checks.ORDER), verbose=verbose).end(made)
    return file.getvalue()


def executed(text: str) -> list[str]:
    return [line for line in re.split(r"[\n\r\x0b\x0c\x85\u2028\u2029]", text) if EXECUTED.search(line)]


@settings(max_examples=60)
@given(st.lists(PIECES, max_size=6).map("".join), st.booleans(), st.sampled_from([20, 80, None]))
def test_the_terminal_shows_no_command(text: str, verbose: bool, width: int | None) -> None:
    assert executed(printed(told(text), verbose=verbose, width=width)) == []


@pytest.mark.parametrize("form", reports.NAMES)
@settings(max_examples=60)
@given(text=st.lists(PIECES, max_size=6).map("".join))
def test_no_format_of_a_report_contains_a_command(form: str, text: str) -> None:
    assert executed(reports.writer(form)(told(text))) == []


@settings(max_examples=60)
@given(st.lists(PIECES, max_size=6).map("".join))
def test_programs_read_the_text_unchanged(text: str) -> None:
    made = told(text)

    uid = next(check for check in json.loads(reports.writer("json")(made))["checks"] if check["id"] == "claim.uid")
    case = ET.fromstring(reports.writer("junit")(made)).find(".//testcase[@name='claim.uid']/failure")

    message = made.of("claim.uid").message
    assert uid["message"] == message
    assert case is not None
    assert (case.get("message") or "") == message
