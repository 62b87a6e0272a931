"""Tests of `chatkey conform widget.toml` with a small widget in JavaScript, as it is and with one mistake at a time."""

from __future__ import annotations

import faulthandler
import json
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest
from click.testing import CliRunner

from chatkey_conform.cli import conform
from chatkey_conform.data import scored
from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.running.scenarios import Selection, run_once
from chatkey_peer.exits import Exit
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK

pytestmark = pytest.mark.long

HERE: Final = Path(__file__).parent
WIDGET: Final = HERE / "js_widget"
MOST_LINES: Final = 500


Row = dict[str, Any]
BROKEN: Final[list[Row]] = tomllib.loads((HERE / "broken_widgets.toml").read_text())["widget"]
HONEST: Final[list[Row]] = tomllib.loads((HERE / "honest_widgets.toml").read_text())["widget"]
CONTROL: Final = "a_message_is_sent_and_is_there_after_a_reload"
"""A scenario that runs with the whole widget in every round."""


def rounds() -> list[list[Row]]:
    """Return the broken widgets that one run judges: each has a scenario and a sentence of its own there."""
    found: list[list[Row]] = []
    for row in (row for row in BROKEN if not row.get("alone")):
        names = {row["scenario"], row["sentence"]}
        free = [one for one in found if not any({other["scenario"], other["sentence"]} & names for other in one)]
        if free:
            free[0].append(row)
        else:
            found.append([row])
    return found


@contextmanager
def widget_file(folder: Path, script: str) -> Iterator[Path]:
    """Serve a widget's script over HTTP, and yield a widget.toml with the script's address."""
    (folder / "widget.js").write_text(script)

    class Files(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - the base class's name

    with ThreadingHTTPServer((LOOPBACK, 0), partial(Files, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            path = folder / "widget.toml"
            text = (WIDGET / "widget.toml").read_text()
            path.write_text(text.replace("localhost:8700", f"{LOOPBACK}:{server.server_port}"))
            yield path
        finally:
            server.shutdown()
            thread.join()


def judged(folder: Path, script: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Run the command, and return its exit status and the report."""
    faulthandler.cancel_dump_traceback_later()  # each step in the browser has its own timeout
    with widget_file(folder, script) as path:
        run = CliRunner().invoke(conform, [str(path), "--output", str(folder / "out"), *options])
    assert run.exit_code in {Exit.CLEAN, Exit.FAILED}, run.output
    report: dict[str, Any] = json.loads((folder / "out" / "report.json").read_text())
    return run.exit_code, report


def changed(*edits: Mapping[str, str]) -> str:
    text = (WIDGET / "widget.js").read_text()
    for edit in edits:
        assert text.count(edit["find"]) == 1, edit["find"]
        text = text.replace(edit["find"], edit["replace"])
    return text


@pytest.mark.parametrize("edits", [[], HONEST], ids=["plain", "unusual"])
def test_an_honest_widget_is_judged_in_every_sentence_and_nothing_fails(tmp_path: Path, edits: list[Row]) -> None:
    """A widget in plain JavaScript, written from the pages, must pass all scenarios for any widget."""
    status, report = judged(tmp_path, changed(*edits))

    assert [(entry["id"], entry["reason"]) for entry in report["evidence"]] == []
    assert (status, report["judged"], report["unjudged_must"]) == (Exit.CLEAN, len(scored(2)["widget"]), [])
    assert report["target"]["grade"] == "widget"
    assert "none failed" in (tmp_path / "out" / "badge.json").read_text()
    assert len(changed().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in BROKEN if row.get("alone")])
def test_a_widget_that_cannot_connect_is_named_within_a_minute(tmp_path: Path, row: Row) -> None:
    begun = time.monotonic()

    status, report = judged(tmp_path, changed(row))

    reasons = {entry["id"]: entry["reason"] for entry in report["sentences"] if entry["verdict"] == "failed"}
    assert status == Exit.FAILED
    assert row["code"] in reasons[row["sentence"]]
    assert time.monotonic() - begun < 2 * PATIENCE


@pytest.mark.parametrize("broken", rounds(), ids=lambda broken: f"{len(broken)} widgets")
def test_a_broken_widget_is_named_by_the_sentence_that_it_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: list[Row]
) -> None:
    """One run judges several widgets: before each scenario, `script_of_scenario` puts the scenario's own in place."""
    faulthandler.cancel_dump_traceback_later()
    for row in broken:
        (tmp_path / f"{row['scenario']}.broken").write_text(changed(row))
    (tmp_path / "whole").write_text(changed())
    for name, value in {"SCRIPTS": tmp_path, "PYTHONPATH": HERE.parents[1]}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p tests.conform.script_of_scenario")

    with widget_file(tmp_path, changed()) as path:
        names = (CONTROL, *(row["scenario"] for row in broken))
        found = run_once(path, Selection(any_widget=True, names=names), tmp_path)

    failed = [outcome for outcome in found if outcome.verdict is Verdict.FAILED]
    named = {
        row["name"]
        for row in broken
        for outcome in failed
        if row["sentence"] in outcome.case.sentences and row["scenario"] in outcome.case.id + outcome.reason
    }
    assert named == {row["name"] for row in broken}
    assert [outcome.verdict for outcome in found if CONTROL in outcome.case.id] == [Verdict.PASSED]
