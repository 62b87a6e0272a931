"""Tests of a project outside our tree that uses pytest-playwright and imports the harness.

All options of pytest-playwright must work.
"""

import faulthandler
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.outside.screen import F8, screen

from chatkey_stack.browsers import NO_BROWSER
from chatkey_stack.browsers.search import Machine, oldest_firefox
from chatkey_stack.patience import PATIENCE

pytestmark = pytest.mark.long

PROJECT = Path(__file__).parent / "project"
RECORDER = [*Path.home().glob(".cache/ms-playwright/ffmpeg-*/ffmpeg*")]
FFMPEG = pytest.mark.skipif(not RECORDER, reason="Playwright's ffmpeg is not here: playwright install ffmpeg")


def has_firefox() -> bool:
    """Return whether this machine has a Firefox that Playwright can drive."""
    command = shutil.which("firefox-esr") or shutil.which("firefox")
    return command is not None and (Machine({}, {}).version(command) or 0) >= oldest_firefox(version("playwright"))


FIREFOX = pytest.mark.skipif(not has_firefox(), reason="there is no Firefox here that Playwright can drive")
PAUSED = """
from playwright.sync_api import expect


def test_paused(widget, page, seen):
    page.pause()
    seen(page, patience=expect._timeout)
"""
TOKEN = re.compile(rb"eyJ[\w-]{5,}\.")


class Project:
    """A copy of the project, and the files that its test runs have written."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder
        self.python = python
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
        command = [self.python, "-m", "pytest", "-p", "no:schemathesis", "-p", "no:faker", *args]
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

    def kept(self, folder: str = "test-results") -> list[str]:
        """Return the paths of the files in the output folder."""
        root = self.folder / folder
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def display(tmp_path: Path) -> Iterator[str]:
    server = shutil.which("Xvfb")
    if server is None:
        pytest.skip("there is no Xvfb on this machine")
    reading, writing = os.pipe()
    with subprocess.Popen(
        [server, "-displayfd", str(writing)], pass_fds=(writing,), stderr=subprocess.DEVNULL
    ) as screen:
        os.close(writing)
        with os.fdopen(reading) as told:
            yield f":{told.readline().strip()}"
        screen.terminate()


@FIREFOX
def test_several_browsers_are_what_their_names_say(project: Project) -> None:
    done = project.run("test_theirs.py", "-v", "-k", "a_page or in_", "--browser", "chromium", "--browser", "firefox")

    assert done.returncode == 0, done.stdout
    agents = {facts["test"]: facts["agent"] for facts in project.seen}
    assert "Firefox/" in agents["test_a_page[firefox]"]
    assert "Chrome/" in agents["test_a_page[chromium]"]
    assert re.search(r"test_not_in_chromium\[chromium\] SKIPPED", done.stdout)
    assert re.search(r"test_not_in_chromium\[firefox\] PASSED", done.stdout)
    assert re.search(r"test_in_firefox_alone\[chromium\] SKIPPED", done.stdout)
    assert re.search(r"test_in_firefox_alone\[firefox\] PASSED", done.stdout)


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


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ((), []),
        (("--tracing", "on"), ["trace.zip"]),
        pytest.param(("--video", "retain-on-failure"), ["video.webm"], marks=FFMPEG),
        (("--screenshot", "only-on-failure"), ["test-failed-1.png"]),
    ],
    ids=["nothing", "tracing", "video", "screenshot"],
)
def test_a_failure_keeps_the_files_that_were_asked_for(
    project: Project, options: tuple[str, ...], kept: list[str]
) -> None:
    done = project.run("-k", "fails and theirs and not once", *options)

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert [Path(name).name for name in project.kept()] == kept


@pytest.mark.skipif(bool(RECORDER), reason="Playwright's ffmpeg is on this machine")
def test_a_video_that_cannot_be_made_is_an_error_with_the_line_to_type(project: Project) -> None:
    done = project.run("-k", "a_page", "--video", "on")

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "playwright install ffmpeg" in done.stdout


def test_a_screenshot_of_the_full_page_is_as_tall_as_the_page(project: Project) -> None:
    project.run("-k", "a_page", "--screenshot", "on", "--full-page-screenshot", "--output", "elsewhere")

    (name,) = project.kept("elsewhere")
    height = int.from_bytes((project.folder / "elsewhere" / name).read_bytes()[20:24])
    assert height > 3000


def test_every_attempt_of_a_test_has_its_own_folder(project: Project) -> None:
    done = project.run("-k", "fails_once", "--reruns", "1", "--tracing", "on")

    assert done.returncode == 0, done.stdout
    folders = sorted(Path(name).parent.name for name in project.kept())
    assert folders == ["test-theirs-py-test-fails-once-chromium", "test-theirs-py-test-fails-once-chromium-retry1"]


def test_last_failed_runs_only_the_failed_tests(project: Project) -> None:
    project.run("test_theirs.py", "-k", "a_page or test_fails and not once")
    again = project.run("test_theirs.py", "-k", "a_page or test_fails and not once", "--lf")

    assert again.returncode == pytest.ExitCode.TESTS_FAILED
    assert "run-last-failure: rerun previous 1 failure" in again.stdout
    assert [facts["test"] for facts in project.seen] == ["test_a_page[chromium]"]


def test_soft_expectations_are_all_told(project: Project) -> None:
    done = project.run("-k", "softly")

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert all(wanted in done.stdout for wanted in ("2 sub-exceptions", "'B'", "'Bye'"))


def test_headed_needs_a_display(project: Project, display: str) -> None:
    """Without a display, `--headed` must fail instead of running headless."""
    seen = project.run("-k", "a_page", "--headed", DISPLAY=display)
    unseen = project.run("-k", "a_page", "--headed", DISPLAY="")

    assert seen.returncode == 0, seen.stdout
    assert [facts["launch"]["headless"] for facts in project.seen] == [False]
    assert "Headless" not in project.seen[0]["agent"]
    assert unseen.returncode == pytest.ExitCode.TESTS_FAILED
    assert "headed browser without having a XServer running" in unseen.stdout


def test_the_inspector_waits_without_a_timeout(project: Project, display: str) -> None:
    """With PWDEBUG, the browser must be headed, and must stop at the first step and at `page.pause()`.

    Resume (F8) continues. The harness must have no timeout meanwhile, even if `--chatkey-patience` gives one.
    """
    (project.folder / "test_paused.py").write_text(PAUSED)
    arguments = ("test_paused.py", "--chatkey-patience", f"{PATIENCE:g}")
    with (
        project.running(*arguments, PWDEBUG="1", DISPLAY=display) as process,
        screen(display) as looking,
    ):
        resumed = set()
        deadline = time.monotonic() + 20 * PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            for title, window in looking.titles().items():
                if title.startswith("Playwright Inspector"):
                    resumed.add(title)
                    looking.press(window, F8)
            with suppress(subprocess.TimeoutExpired):
                process.wait(1)
        output = process.communicate()[0]

    assert process.returncode == 0, output
    assert resumed
    (facts,) = project.seen
    assert facts["patience"] == 0
    assert "Headless" not in facts["agent"]


def test_a_channel_that_is_not_installed_is_an_error(project: Project) -> None:
    done = project.run("-k", "a_page", "--browser-channel", "msedge-dev")

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "Chromium distribution 'msedge-dev' is not found" in done.stdout


def test_a_webkit_that_is_not_there_is_told_before_anything_runs(project: Project, tmp_path: Path) -> None:
    done = project.run("--browser", "chromium", "--browser", "webkit", PLAYWRIGHT_BROWSERS_PATH=str(tmp_path / "none"))

    assert done.returncode == NO_BROWSER
    assert "No WebKit was found. Install one: `chatkey browser --install webkit`." in done.stdout
    assert "passed" not in done.stdout


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


@pytest.fixture
def twin(tmp_path: Path) -> str:
    """The Python of an environment with all our packages and pytest-playwright-asyncio."""
    venv.create(tmp_path / "twin", with_pip=True)
    python = tmp_path / "twin" / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "twin")}))
    (packages / "ours.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    wanted = f"pytest-playwright-asyncio=={version('pytest-playwright')}"
    got = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", wanted],
        capture_output=True,
        text=True,
        check=False,
        timeout=5 * PATIENCE,
    )
    if got.returncode:
        pytest.skip(f"{wanted} cannot be had here: {got.stderr.strip().splitlines()[-1]}")
    return str(python)


def test_the_asynchronous_twin_is_left_out_or_refused(twin: str, tmp_path: Path) -> None:
    """The harness must refuse to run with both plugins.

    It must work with pytest-playwright alone. With pytest-playwright-asyncio alone, the error must say what to do.
    """
    project = Project(tmp_path / "project", twin)

    both = project.run("-k", "a_page")
    ours = project.run("-k", "a_page", "-p", "no:playwright-asyncio")
    theirs = project.run("-k", "a_page", "-p", "no:playwright")

    assert "pytest-playwright and pytest-playwright-asyncio are not compatible" in both.stderr + both.stdout
    assert ours.returncode == 0, ours.stdout
    assert theirs.returncode == pytest.ExitCode.USAGE_ERROR
    assert "`-p no:playwright-asyncio`: the harness uses Playwright's synchronous API." in theirs.stderr


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of every file in a folder, including files in ZIP archives."""
    for path in folder.rglob("*"):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                yield from ((f"{path}/{name}", archive.read(name)) for name in archive.namelist())
        elif path.is_file() and path.suffix != ".pyc":
            yield str(path), path.read_bytes()
