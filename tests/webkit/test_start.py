"""Tests of the start of a browser, with programs that behave like a driver that hangs. They need no WebKitGTK."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.webkit.driven import StartError, browser, running

from chatkey_stack.patience import PATIENCE

pytestmark = pytest.mark.skipif(shutil.which("setpriv") is None, reason="there is no setpriv on this machine")

HANGS = """
import os, socket, subprocess, sys, time
pids = open({pids!r}, "a")
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(os.getpid(), child.pid, file=pids, flush=True)
print("started", flush=True)
listening = socket.create_server(("127.0.0.1", int(sys.argv[1].removeprefix("--port="))))
time.sleep(600)
"""
ANSWERS = """
import http.server, json, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.dumps({"value": {"sessionId": "1", "capabilities": {}}}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = answer

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1].removeprefix("--port="))), Handler).serve_forever()
"""


def driver(folder: Path, *codes: str) -> str:
    """Create a program that runs the first code at its first start, and so on. The last code is used from then on."""
    program = folder / "driver"
    count = folder / "starts"
    program.write_text(
        f"#!{sys.executable}\n"
        f"starts = open({str(count)!r}, 'a+'); starts.write('x'); starts.flush(); starts.seek(0)\n"
        f"codes = {codes!r}\n"
        "exec(codes[min(len(starts.read()), len(codes)) - 1])\n"
    )
    program.chmod(0o755)
    return str(program)


def starts(folder: Path) -> int:
    return len((folder / "starts").read_text())


def until(is_so: Callable[[], bool]) -> bool:
    """Wait until a condition is met, and return whether it was met in time."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if is_so():
            return True
        time.sleep(0.05)
    return False


def ended(pid: int) -> bool:
    """Wait until a process has ended, or is a zombie that only its parent can remove."""

    def is_gone() -> bool:
        try:
            status = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
        return status.rpartition(")")[2].split()[0] == "Z"

    return until(is_gone)


def test_a_driver_that_never_answers_is_tried_twice_and_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    hanging = driver(tmp_path, HANGS.format(pids=str(pids)))

    with (
        pytest.raises(StartError, match=r"did not start a browser within 2 s: .*\nstarted\nstarted"),
        browser(":0", tmp_path / "driver.log", driver=hanging, within=2),
    ):
        pass

    left = [int(pid) for pid in pids.read_text().split()]
    assert starts(tmp_path) == 2
    assert len(left) == 4
    assert all(map(ended, left))


def test_a_driver_that_answers_at_the_second_start_is_used(tmp_path: Path) -> None:
    second = driver(tmp_path, HANGS.format(pids=str(tmp_path / "pids")), ANSWERS)

    with browser(":0", tmp_path / "driver.log", driver=second, within=5) as session:
        found = session.session_id

    assert found == "1"
    assert starts(tmp_path) == 2
    assert all(ended(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def test_a_program_ends_if_the_tests_are_killed(tmp_path: Path) -> None:
    """`faulthandler_exit_on_timeout` ends a run that hangs without any clean-up."""
    pids = tmp_path / "pids"
    code = (
        "import sys, time; from tests.webkit.driven import running\n"
        f"with running(sys.executable, '-c', 'import os, time; print(os.getpid(), flush=True); time.sleep(600)',\n"
        f"             output=os.open({str(pids)!r}, os.O_CREAT | os.O_WRONLY)):\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", f"import os\n{code}"], env={**os.environ, "PYTHONPATH": "."}) as tests:
        assert until(lambda: pids.exists() and bool(pids.read_text().strip()))
        tests.send_signal(signal.SIGKILL)

    assert ended(int(pids.read_text()))


def test_what_a_program_has_started_ends_with_it(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with running(sys.executable, "-c", HANGS.format(pids=str(pids)), "--port=0"):
        assert until(lambda: pids.exists() and bool(pids.read_text().strip()))

    assert all(ended(int(pid)) for pid in pids.read_text().split())
