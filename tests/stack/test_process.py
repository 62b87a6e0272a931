"""Tests of a child process that becomes ready, dies, is late or does not end. Errors must quote its output."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatkey_stack.process import Process, ProcessError, ended_in_order

MakeProcess = Callable[..., Process]

SERVES = "import signal; print('one'); print('ready http://x', flush=True); signal.pause()"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SERVES.removeprefix('import signal; ')}"


@pytest.fixture
def make_process(tmp_path: Path) -> MakeProcess:
    def make(code: str, **options: Any) -> Process:
        return Process("child", (sys.executable, "-c", code), environ=os.environ, log=tmp_path / "child.log", **options)

    return make


def test_a_child_that_says_ready_runs_until_the_block_ends(make_process: MakeProcess, tmp_path: Path) -> None:
    child = make_process(SERVES)

    with child:
        running = child.running

    assert running
    assert not child.running
    assert child.output() == "one\nready http://x\n" == (tmp_path / "child.log").read_text()


PRINTS_AND_WAITS = "import signal; print('still thinking', flush=True); signal.pause()"
CLOSES_FIRST = "import os, time; os.close(1); os.close(2); time.sleep(0.2); os._exit(3)"
"""A child process closes its output shortly before it exits. The test prolongs this interval."""


@pytest.mark.parametrize(
    ("code", "options", "said"),
    [
        (
            "import sys; sys.exit('the port is taken')",
            {},
            r"child ended before it was ready \(exit status 1\)[\s\S]*child\.log[\s\S]*the port is taken",
        ),
        (CLOSES_FIRST, {}, r"child ended before it was ready \(exit status 3\)"),
        (
            PRINTS_AND_WAITS,
            {"ready_within": 0.3},
            r"child was not ready within 0\.3 s \(the load of .* is \d+\.\d on \d+ CPUs; .* CHATKEY_PATIENCE=0\.6\)",
        ),
        (STUBBORN, {"ends_within": 0.1}, r"child did not end within 0\.1 s and was killed"),
    ],
    ids=["dies", "closes its output first", "late", "ignores the request to end"],
)
def test_a_child_that_does_not_start_or_end_in_time_is_ended_and_reported(
    make_process: MakeProcess, code: str, options: dict[str, float], said: str
) -> None:
    child = make_process(code, **options)

    with pytest.raises(ProcessError, match=said), child:
        pass

    assert not child.running


def test_a_restarted_child_is_a_new_one_that_is_ready(make_process: MakeProcess) -> None:
    child = make_process(SERVES)

    with child:
        child.restart()
        running = child.running

    assert running
    assert child.output().count("ready http://x") == 2


def test_check_reports_that_a_child_died_unnoticed(make_process: MakeProcess) -> None:
    child = make_process("import sys; print('ready http://x', flush=True); sys.stdin.read()")

    with child:
        child.stop()

        with pytest.raises(ProcessError, match="child is not running"):
            child.check()


def test_only_the_last_lines_stay_in_memory_and_all_of_them_in_the_log(
    make_process: MakeProcess, tmp_path: Path
) -> None:
    child = make_process("print(*range(6000), sep='\\n'); " + SERVES)

    with child:
        pass

    assert child.output().startswith("1002\n")
    assert (tmp_path / "child.log").read_text().startswith("0\n1\n")


STARTS_A_TIED_CHILD = """
import os, pathlib, signal, sys, time
from chatkey_stack.process import Process, ended_in_order

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin without
command = (sys.executable, "-m", "chatkey_stack.tied", "serves")
with ended_in_order(), Process("child", command, environ=os.environ, log=pathlib.Path("log"), tied=True):
    print("started", flush=True)
    while True:
        time.sleep(0.05)  # one long wait would miss a signal that comes just before it, or that another thread gets
"""


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT], ids=lambda end: end.name)
def test_a_tied_child_ends_with_its_parent_however_that_ends(tmp_path: Path, end: signal.Signals) -> None:
    (tmp_path / "serves.py").write_text(f"import fcntl; held = open('held', 'w'); fcntl.flock(held, 2); {SERVES}")
    command = [sys.executable, "-c", STARTS_A_TIED_CHILD]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with (
        subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=nothing) as parent,
        (tmp_path / "held").open("w") as held,
    ):
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"started\n"

        parent.send_signal(end)

        fcntl.flock(held, fcntl.LOCK_EX)  # the child holds this lock as long as it lives


@pytest.mark.parametrize("own", [signal.SIG_IGN, lambda *_: None], ids=["ignored", "handled"])
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP], ids=lambda ending: ending.name)
def test_ignored_and_handled_signals_are_left_unchanged(ending: signal.Signals, own: Any) -> None:
    before = signal.signal(ending, own)
    try:
        with ended_in_order():
            assert signal.getsignal(ending) is own
    finally:
        signal.signal(ending, before)


IS_TOLD_TWICE = """
import signal, sys
from chatkey_serving.ending import ended_in_order

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` begins with it ignored
try:
    with ended_in_order():
        try:
            signal.raise_signal(int(sys.argv[1]))
        finally:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGHUP)
            print("cleaned up")
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGTERM) == signal.getsignal(signal.SIGHUP) == signal.SIG_DFL)
"""


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP], ids=lambda ending: ending.name)
def test_only_the_first_signal_interrupts(ending: signal.Signals) -> None:
    command = [sys.executable, "-c", IS_TOLD_TWICE, str(int(ending))]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.stdout, done.returncode) == ("cleaned up\ninterrupted True\n", 0)
