"""Runs the commands of each page in an empty folder, with only what the page installs from the built wheel.

A page's blocks run in their order, in one shell. A command that serves runs in the background until the page ends. A
block that cannot run has a mark in the page, with the reason: `<!-- not run: needs your own service -->`. A command
that fails on purpose has a mark with its status: `<!-- ends with 1 -->`. Output that a page shows below a block must be
in the real output, line by line. `…` stands for any text, and a decimal fraction for any number.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import which
from typing import Final, NamedTuple

import pytest

from chatkey_stack.patience import PATIENCE

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "docs" / "integrators"
"""The page of these examples is not looked at: the tests of `chatkey check` start each example."""
PAGES: Final = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if EXAMPLES not in page.parents),
]
SHELL: Final = {"console", "sh"}
BLOCK: Final = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+) -->\n)?(?:<!-- ends with (?P<status>\d) -->\n)?"
    r"```(?P<language>console|sh|json|python)\n(?P<text>.*?)^```$(?:\n\n```text\n(?P<shown>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
NAMED: Final = re.compile(r"[` ]([\w-]+\.(?:json|py))\b")
INSTALLS: Final = re.compile(r"pip install '?(chatkey(?:\[[\w,]+\])?)'?((?: [a-z]+)*)")
SERVERS: Final = ("chatkey demo", "chatkey fake-oauth", "chatkey serve", "chatkey stack", "python -u shop.py")
AT: Final = re.compile(r"(?:--port[= ]|ready http://[\w.]+:)(\d+)")
NO_WINDOW: Final = {"chatkey demo": "chatkey demo --no-browser"}
"""What the test changes in a command: nobody closes the window."""
MOST_MARKS: Final = 30
SYSTEM: Final = "/usr/local/bin:/usr/bin:/bin"
"""The programs of the machine, without those of the environment that runs the tests."""
PASSWORD: Final = "typed at the prompt\ntyped at the prompt\n"


class Block(NamedTuple):
    language: str
    text: str
    why: str | None
    status: int
    shown: str
    """The output that the page shows."""
    before: str
    """The paragraph or command in front of the block. It names the file that the block prints."""


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(
            found["language"],
            found["text"],
            found["why"],
            int(found["status"] or 0),
            found["shown"] or "",
            _paragraph_before(text, found.start()),
        )
        for found in BLOCK.finditer(text)
    ]


def _paragraph_before(text: str, start: int) -> str:
    return text[:start].rstrip().rpartition("\n\n")[2]


def commands(block: Block) -> list[str]:
    lines = block.text.splitlines() if block.language in SHELL and not block.why else []
    return [line for line in lines if line and not line.startswith("#")]


RUN: Final = [page for page in PAGES if any(map(commands, blocks(page)))]


def test_few_blocks_are_not_run() -> None:
    assert sum(block.why is not None for page in PAGES for block in blocks(page)) <= MOST_MARKS


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_a_page_with_commands_first_installs_what_they_need(page: Path) -> None:
    first = next(line for block in blocks(page) if block.language in SHELL for line in block.text.splitlines())

    assert INSTALLS.search(first) or "venv" in first, first


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Let no other process in here until the block ends."""
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder with the wheels of chatkey and chatkey-kit. One process of the run builds them for all."""
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "wheels"
    with locked(folder.with_suffix(".lock")):
        if not folder.exists():
            made = tmp_path_factory.mktemp("built")
            for project in (ROOT, ROOT / "kit"):
                _done(["uv", "build", "--quiet", "--wheel", "--out-dir", str(made), str(project)])
            made.rename(folder)
    return folder


@pytest.fixture
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let no other process run one of these tests meanwhile: the pages name ports."""
    with locked(tmp_path_factory.getbasetemp().parent / "ports.lock"):
        yield


@pytest.mark.long
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run_as_they_are_written(page: Path, wheels: Path, tmp_path: Path) -> None:
    found = blocks(page)
    if any(line.startswith("curl ") for block in found for line in commands(block)) and not which("curl", path=SYSTEM):
        pytest.skip("curl is not on this machine: `apt-get install curl` brings it")
    installs = sorted({names for block in found for names in INSTALLS.findall(block.text) if not block.why})
    home, room = tmp_path / "environment", tmp_path / "room"
    room.mkdir()
    _done(["uv", "venv", "--quiet", "--python", sys.executable, str(home)])
    wheel = next(wheels.glob("chatkey-*.whl"))
    wanted = [f"{name} @ {wheel.as_uri()}" for name, _ in installs]
    wanted += [other for _, others in installs for other in others.split()]
    common = ["--quiet", "--python", str(home / "bin" / "python"), "--constraint", "requirements/run.txt"]
    common += ["--find-links", str(wheels)]
    _done(["uv", "pip", "install", *common, *wanted])
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("CHATKEY_", "PYTHON"))}
    environ |= {"PATH": f"{home / 'bin'}{os.pathsep}{SYSTEM}", "HOME": str(room)}

    with ExitStack() as running:
        for block in found:
            if block.language in {"json", "python"} and (named := NAMED.findall(block.before)):
                (room / named[-1]).write_text(block.text, "utf-8")
        for block in found:
            printed = [_run(line, room, environ, running, block.status) for line in commands(block)]
            if printed:
                compare(block.shown, "\n".join(printed))


def compare(shown: str, printed: str) -> None:
    """Assert that `printed` has the lines that a page shows, in their order."""
    rest = printed
    for line in filter(str.strip, shown.splitlines()):
        words = re.escape(" ".join(line.split())).replace("…", ".*").replace(r"\ ", r"\s+")
        found = re.search(re.sub(r"\d+\\\.\d+", r"[\\d.]+", words), rest)
        assert found, f"{line!r} is not in the output after the lines before it:\n{printed}"
        rest = rest[found.end() :]


def _run(line: str, room: Path, environ: dict[str, str], running: ExitStack, status: int) -> str:
    """Run one line of a page, which must end with `status`, and return its output. An `export` stays."""
    if line.startswith("export "):
        environ |= {name: value for name, _, value in (word.partition("=") for word in shlex.split(line)[1:])}
    elif any(server in line for server in SERVERS) and "--init" not in line:
        return _serve(line, room, environ, running)
    elif not (INSTALLS.search(line) or "venv" in line):
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=room,
            env=environ,
            input=PASSWORD,
            capture_output=True,
            text=True,
            timeout=10 * PATIENCE,
            check=False,
        )
        assert done.returncode == status, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr
    return ""


def _serve(line: str, room: Path, environ: dict[str, str], running: ExitStack) -> str:
    """Start a server, and return its first output. Servers of earlier lines end, because they have the same ports."""
    running.close()
    for command, instead in NO_WINDOW.items():
        line = line.replace(command, instead)
    log = room / "server.log"
    output = running.enter_context(log.open("w"))
    process = subprocess.Popen(
        ["bash", "-c", f"exec {_exec(line)}"], cwd=room, env=environ, stdout=output, stderr=output
    )
    running.callback(process.wait, PATIENCE)
    running.callback(process.terminate)
    until = time.monotonic() + 2 * PATIENCE
    while not any(word in log.read_text() + _printed(line, room) for word in ("ready http", "http://", "https://")):
        assert process.poll() is None, f"{line}\n{log.read_text()}"
        assert time.monotonic() < until, f"{line} is not ready:\n{log.read_text()}"
        time.sleep(0.1)
    return log.read_text()


def _exec(line: str) -> str:
    return f"env {line}" if re.match(r"[A-Z_]+=", line) else line


def _printed(line: str, room: Path) -> str:
    """Return what a command has written to the file that its line names after `>`."""
    file = room / line.rpartition(">")[2].strip()
    return file.read_text() if ">" in line and file.is_file() else ""


def _done(command: Sequence[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
