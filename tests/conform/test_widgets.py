"""Tests of `chatkey conform widget.toml` with a small widget in JavaScript, as it is and with one mistake at a time."""

from __future__ import annotations

import faulthandler
import json
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
from chatkey_peer.exits import Exit
from chatkey_stack.ports import LOOPBACK

pytestmark = pytest.mark.long

HERE: Final = Path(__file__).parent
WIDGET: Final = HERE / "js_widget"
MOST_LINES: Final = 500


def broken() -> list[Any]:
    """Return the broken widgets, each as a parameter with its name as the id."""
    found: list[dict[str, str]] = tomllib.loads((HERE / "broken_widgets.toml").read_text())["widget"]
    return [pytest.param(entry, id=entry["name"]) for entry in found]


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


def changed(edit: Mapping[str, str]) -> str:
    text = (WIDGET / "widget.js").read_text()
    assert text.count(edit["find"]) == 1
    return text.replace(edit["find"], edit["replace"])


def test_the_small_widget_is_judged_in_every_sentence_and_nothing_fails(tmp_path: Path) -> None:
    """A widget in plain JavaScript, written from the pages, must pass all scenarios for any widget."""
    script = (WIDGET / "widget.js").read_text()

    status, report = judged(tmp_path, script)

    assert [(entry["id"], entry["reason"]) for entry in report["evidence"]] == []
    assert (status, report["judged"], report["unjudged_must"]) == (Exit.CLEAN, len(scored(2)["widget"]), [])
    assert report["target"]["grade"] == "widget"
    assert "none failed" in (tmp_path / "out" / "badge.json").read_text()
    assert len(script.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("entry", broken())
def test_a_broken_widget_is_named_by_the_sentence_that_it_breaks(tmp_path: Path, entry: dict[str, str]) -> None:
    status, report = judged(tmp_path, changed(entry), "-k", entry["scenario"])

    failed = {sentence["id"] for sentence in report["sentences"] if sentence["verdict"] == "failed"}
    assert entry["sentence"] in failed
    assert status == Exit.FAILED
