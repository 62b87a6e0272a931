"""A child process that runs a server. It can be started, awaited, watched and stopped."""

import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from chatkey_serving.ending import ended_in_order
from chatkey_stack.patience import PATIENCE, waiting_longer

__all__ = ["Process", "ProcessError", "ended_in_order"]

READY = "ready "
KEPT_LINES = 5000
SHOWN_LINES = 40


class ProcessError(Exception):
    """A child process failed to start, died, or did not stop. The message contains the last lines of its output."""


class Process:
    """Runs `command` until the `with` block ends.

    The child is ready when it writes the line `ready <url>`. The output of the child is written to the file `log`, and
    the last lines are kept in memory. Raises `ProcessError` if the child dies or is not ready in time. A child that is
    `tied` (see `chatkey_stack.tied`) ends with this program even if this program is killed.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        log: Path,
        ready_within: float = PATIENCE,
        ends_within: float = PATIENCE,
        tied: bool = False,
    ) -> None:
        self.name = name
        self._input = subprocess.PIPE if tied else subprocess.DEVNULL
        self.log = log
        self._command = list(command)
        self._environ = dict(environ)
        self._ready_within = ready_within
        self._ends_within = ends_within
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._written = 0
        self._said_ready = threading.Event()
        self._ended = threading.Event()
        self._child: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        """The child's process id. Raises `ProcessError` if the child was not started."""
        if self._child is None:
            raise ProcessError(f"{self.name} was not started")
        return self._child.pid

    @property
    def mark(self) -> int:
        """The number of lines that the child has written so far, for `output(since=…)`."""
        return self._written

    def output(self, since: int = 0) -> str:
        """Return the output of the child after line number `since`. Very old lines may be missing."""
        lines = list(self._lines)
        kept_from = self._written - len(lines)
        return "".join(lines[max(0, since - kept_from) :])

    def start(self) -> None:
        """Start the child without waiting for it."""
        if self.running:
            raise ProcessError(f"{self.name} is already running")
        self._said_ready.clear()
        self._ended.clear()
        self._child = subprocess.Popen(  # noqa: S603  (the command is ours)
            self._command,
            env=self._environ,
            stdin=self._input,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # Ctrl-C must reach only this program, which then ends its children in order
        )
        self._reader = threading.Thread(target=self._read, args=(self._child,), name=f"{self.name} output", daemon=True)
        self._reader.start()

    def wait_ready(self) -> None:
        """Wait for the line `ready <url>`."""
        deadline = time.monotonic() + self._ready_within
        while not self._said_ready.wait(0.02):
            if self._ended.is_set() and not self._said_ready.is_set():
                raise ProcessError(self._sentence("ended before it was ready"))
            if time.monotonic() > deadline:
                raise ProcessError(
                    self._sentence(f"was not ready within {self._ready_within:g} s{waiting_longer(self._ready_within)}")
                )

    def check(self) -> None:
        """Raise `ProcessError` if the child has died."""
        if not self.running:
            raise ProcessError(self._sentence("is not running"))

    def stop(self) -> None:
        """Ask the child to exit, and wait for the exit. Raises an error if the child must be killed."""
        child = self._child
        if child is None:
            return
        stubborn = False
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(self._ends_within)
            except subprocess.TimeoutExpired:
                stubborn = True
                child.kill()
                child.wait()
        if child.stdin is not None:
            child.stdin.close()
        if self._reader is not None:
            self._reader.join(self._ends_within)
        if stubborn:
            what = f"did not end within {self._ends_within:g} s and was killed{waiting_longer(self._ends_within)}"
            raise ProcessError(self._sentence(what))

    def restart(self) -> None:
        """Stop the child, and start the child again with the same command."""
        self.stop()
        self.start()
        self.wait_ready()

    def _read(self, child: subprocess.Popen[str]) -> None:
        if child.stdout is None:
            return
        with child.stdout as lines, self.log.open("a", encoding="utf-8") as log:
            for line in lines:
                self._lines.append(line)
                self._written += 1
                log.write(line)
                log.flush()
                if line.startswith(READY):
                    self._said_ready.set()
        child.wait()  # the output ends a moment before the exit status is known
        self._ended.set()

    def _sentence(self, what: str) -> str:
        status = self._child.poll() if self._child else None
        ending = f" (exit status {status})" if status is not None else ""
        tail = "".join(self.output().splitlines(keepends=True)[-SHOWN_LINES:]).rstrip() or "(nothing)"
        return f"{self.name} {what}{ending}. Its last output ({self.log} has all of it):\n{tail}"
