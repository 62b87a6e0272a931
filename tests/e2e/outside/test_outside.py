"""Tests of a project outside our tree that uses pytest-playwright and imports the harness."""

import faulthandler
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chatkey_stack.patience import PATIENCE

pytestmark = pytest.mark.long

PROJECT = Path(__file__).parent / "project"
RECORDER = [*Path.home().glob(".cache/ms-playwright/ffmpeg-*/ffmpeg*")]
TOKEN = re.compile(rb"eyJ[\w-]{5,}\.")


class Project:
    """A copy of the project, and the files that its test runs have written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(PROJECT, folder)

    def run(self, *args: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the project's tests as its owner would. With two stacks on a slow machine, this takes minutes."""
        with self.running(*args, **environ) as process:
            output, errors = process.communicate(timeout=20 * PATIENCE)
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    @contextmanager
    def running(self, *args: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
        """Run the project's tests in a process that ends with the block."""
        faulthandler.cancel_dump_traceback_later()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("CHATKEY_", "PYTEST_"))}
        command = [sys.executable, "-m", "pytest", "-p", "no:schemathesis", "-p", "no:faker", *args]
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env={**inherited, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.terminate()

    @property
    def seen(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "seen.jsonl").read_text().splitlines()]

    def kept(self) -> list[str]:
        """Return the paths of the files in the output folder."""
        root = self.folder / "test-results"
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def test_a_plain_test_starts_no_server_and_gets_the_options_it_is_given(project: Project) -> None:
    options = ("--device", "iPhone 13", "--slowmo", "20", "--base-url", "https://shop.example")

    done = project.run("-k", "a_page", *options, "--setup-show")

    assert done.returncode == 0, done.stdout
    (facts,) = project.seen
    assert "iPhone" in facts["agent"]
    assert facts["calm"] is False
    assert (facts["launch"]["slow_mo"], facts["base_url"], facts["default"]) == (20, "https://shop.example", None)
    assert "args" not in facts["launch"]
    assert not re.search(r"SETUP.*(stack|chatkey_certificates|witness|chatkey_watch)", done.stdout)


def test_headed_needs_a_display(project: Project) -> None:
    """Without a display, `--headed` must fail instead of running headless."""
    unseen = project.run("-k", "a_page", "--headed", DISPLAY="")

    assert unseen.returncode == pytest.ExitCode.TESTS_FAILED
    assert "headed browser without having a XServer running" in unseen.stdout


def test_everything_at_once_in_two_processes_leaves_no_secret(project: Project) -> None:
    """Each worker has a separate stack.

    The report must link all traces, videos, reports and texts, and none of these may contain a token.
    """
    options = ["-n", "2", "--tracing", "on", "--screenshot", "on", "--chatkey-patience", "60"]
    options += ["--video", "on"] if RECORDER else []

    done = project.run("test_ours.py", *options, "--html", "report.html", "--junitxml", "junit.xml", "-l")

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert {facts["test"] for facts in project.seen} == {
        "test_a_member_fails[chromium-one]",
        "test_a_member_fails[chromium-other]",
        "test_a_visitor[chromium]",
    }, done.stdout
    assert all(facts["calm"] for facts in project.seen)
    assert {facts["worker"] for facts in project.seen} == {"gw0", "gw1"}
    assert len({facts["url"] for facts in project.seen if "url" in facts}) == 2
    kept = project.kept()
    for name in ("trace.zip", "test-failed-1.png", "servers.txt"):
        assert len([path for path in kept if path.endswith(name) and "member" in path]) == 2, kept
    linked = (project.folder / "junit.xml").read_text()
    assert all(f"{kind}" in linked for kind in ("playwright_trace", "playwright_screenshot", "chatkey_servers"))
    assert re.search(r"show-trace --host 127\.0\.0\.1 --port 9323 \S+trace\.zip", done.stdout)
    assert TOKEN.search(done.stdout.encode()) is None
    assert [name for name, content in contents(project.folder) if TOKEN.search(content)] == []


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of every file in a folder, including files in ZIP archives."""
    for path in folder.rglob("*"):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                yield from ((f"{path}/{name}", archive.read(name)) for name in archive.namelist())
        elif path.is_file() and path.suffix != ".pyc":
            yield str(path), path.read_bytes()
