"""Tests of the browser scenarios as a part of `chatkey conform`: their selection, results, and scored sentences."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.e2e.aim.foreign import foreign

from chatkey_conform.cli import conform
from chatkey_conform.data import elsewhere, scored
from chatkey_conform.grades.business import HarnessError
from chatkey_conform.judging.scenario import Scenario, read_scenarios
from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.running import scenarios
from chatkey_conform.running.outcome import Outcome
from chatkey_conform.running.scenarios import Selection, outcomes, run_scenarios
from chatkey_peer.exits import Exit
from chatkey_protocol.names import REVISION


@pytest.mark.parametrize(
    ("selection", "expression"),
    [
        (Selection(), ""),
        (Selection(any_widget=True), "any_widget"),
        (Selection(smoke=True, words="logout"), "smoke"),
        (Selection(words="logout"), "(smoke or logout)"),
        (Selection(any_widget=True, words="tokens/a[b]"), "any_widget and (smoke or tokens/a[b])"),
        (Selection(words="two words"), "smoke"),
        (Selection(any_widget=True, names=("test_a", "test_b")), "test_a or test_b"),
    ],
)
def test_a_selection_includes_the_smoke_scenarios(selection: Selection, expression: str) -> None:
    assert selection.expression == expression


@pytest.mark.parametrize(
    ("first", "second", "verdicts", "expression"),
    [
        ({"b[x]": Verdict.FAILED}, {"b[x]": Verdict.PASSED}, ["passed", "passed"], "test_b"),
        ({"b[x]": Verdict.FAILED}, {"b[x]": Verdict.FAILED}, ["passed", "failed"], "test_b"),
        ({"a": Verdict.FAILED, "b[x]": Verdict.NOT_RUN}, {}, ["passed", "passed"], "smoke"),
    ],
    ids=["mended", "confirmed", "smoke"],
)
def test_a_failed_scenario_runs_once_more(
    monkeypatch: pytest.MonkeyPatch,
    first: dict[str, Verdict],
    second: dict[str, Verdict],
    verdicts: list[str],
    expression: str,
) -> None:
    """If a failed smoke scenario has ended the run, all scenarios must run once more."""
    expressions, answers = list[str](), [first, second]

    def ran(_file: Path, selection: Selection, _folder: Path | None) -> list[Outcome]:
        expressions.append(selection.expression)
        given = {"a": Verdict.PASSED, "b[x]": Verdict.PASSED, **answers[len(expressions) - 1]}
        made = (Scenario(f"test_it.py::test_{name}", "", (), verdict) for name, verdict in given.items())
        return list(outcomes(list(made)))

    monkeypatch.setattr(scenarios, "run_once", ran)

    found = run_scenarios(Path("widget.toml"), Selection(smoke=True), None)

    assert [outcome.verdict.value for outcome in found] == verdicts
    assert expressions == ["smoke", expression]


def test_a_missing_capability_has_the_words_that_cases_use() -> None:
    skipped = Scenario("test_a.py::test_b", "It is so.", ("3/logout",), Verdict.NOT_APPLICABLE, "not applicable: clock")
    failed = Scenario("test_a.py::test_c", "It is so.", ("3/logout",), Verdict.FAILED, "AssertionError: clock: x", 1.5)

    first, second = outcomes([skipped, failed])

    assert first.reason == "not declared: clock (a test can move the service's clock)"
    assert (second.reason, second.seconds, second.case.page) == (failed.reason, 1.5, "conform-browser.md")


def test_the_sentences_of_the_scenarios_are_those_scored(tmp_path: Path) -> None:
    """The lists for a service with scenarios and for a widget must be those of the scenarios' marks."""
    results = tmp_path / "results.json"
    command = (sys.executable, "-m", "chatkey", "e2e", "--list", "--chatkey-results", str(results))
    subprocess.run((*command, "-p", "no:cacheprovider"), check=True, capture_output=True)

    found = read_scenarios(results)

    named = {sentence for scenario in found for sentence in scenario.sentences}
    of_widgets = {name for found in found if found.id.startswith("test_any_widget") for name in found.sentences}
    assert scored(2)["scenarios"] == named - scored(2)["service"] - set(elsewhere()["backend"])
    assert scored(2)["widget"] == of_widgets >= set(elsewhere()["widget"])
    assert set(elsewhere()["scenarios"]) <= scored(2)["scenarios"]


def test_scenarios_that_cannot_start_are_an_error_of_the_harness(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="the browser scenarios ended with status 4"):
        run_scenarios(tmp_path / "missing.toml", Selection(), None)


def judged(target: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Run the command, and return its exit status and the report."""
    run = CliRunner().invoke(conform, [str(target), "--browser", "--output", str(target.parent / "out"), *options])
    report: dict[str, Any] = json.loads((target.parent / "out" / "report.json").read_text())
    return run.exit_code, report


@pytest.mark.long
def test_one_command_judges_a_service_with_github_over_the_network_and_in_a_browser(tmp_path: Path) -> None:
    """Both parts must be in one report. The scenarios with a social login must use GitHub."""
    with foreign(tmp_path, socials=("github",)) as service:
        status, report = judged(service.by_lab(), "-k", "starts_by_a_click")

    assert status == Exit.CLEAN, report["evidence"]
    assert "smoke/a-visitor-connects" in report["times"]
    assert "test_any_widget.py::test_a_social_login_starts_by_a_click_and_makes_a_member" in report["times"]
    assert report["scored"] == len(scored(REVISION)["service"] | scored(REVISION)["scenarios"])


@pytest.mark.long
def test_without_a_browser_the_results_over_the_network_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATKEY_BROWSER", str(tmp_path / "no-browser"))
    with foreign(tmp_path) as service:
        status, report = judged(service.by_lab(), "--smoke")

    assert status == Exit.OURS
    assert report["cases"]["passed"] > 0
    assert [entry["id"] for entry in report["evidence"] if entry["verdict"] == "harness error"] == ["browser"]
