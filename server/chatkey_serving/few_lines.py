"""Limits the log lines of each kind per second. One line reports how many lines were left out."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from chatkey_serving.allowance import Allowance
from chatkey_serving.site import LOG

PER_SECOND: Final = 10
AT_ONCE_SECONDS: Final = 10
"""A burst may have as many lines as the rate allows in this time."""
TRACEBACK_LINES: Final = 10
"""A traceback counts as this many lines."""
REPORT_SECONDS: Final = 10.0
"""Time between the first line that is left out and the report on all of them."""


def in_the_background(seconds: float, act: Callable[[], None]) -> None:
    """Call a function after `seconds`, in a thread that does not keep the process alive."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()


class FewLines:
    """Decides which log lines are written. Calls `tell` with each kind, and how many lines of that kind were left out.

    The caller must use a bounded number of kinds.
    """

    def __init__(
        self,
        per_second: int,
        tell: Callable[[str, int], None],
        *,
        now: Callable[[], float] = time.monotonic,
        later: Callable[[float, Callable[[], None]], None] = in_the_background,
    ) -> None:
        self._per_second = per_second
        self._tell = tell
        self._now = now
        self._later = later
        self._allowances: dict[str, Allowance] = {}
        self._left_out: Counter[str] = Counter()
        self._lock = threading.Lock()

    def admits(self, kind: str, *, traceback: bool = False) -> bool:
        """Count a line. Returns False if the line must be left out."""
        with self._lock:
            now = self._now()
            allowance = self._allowances.get(kind)
            if allowance is None:
                allowance = Allowance(self._per_second, now, at_once=AT_ONCE_SECONDS * self._per_second)
                self._allowances[kind] = allowance
            if allowance.take(now, TRACEBACK_LINES if traceback else 1):
                return True
            is_first = not self._left_out
            self._left_out[kind] += 1
        if is_first:
            self._later(REPORT_SECONDS, self.report)
        return False

    def report(self) -> None:
        """Call `tell` for each kind that had lines left out since the last report."""
        with self._lock:
            left_out, self._left_out = self._left_out, Counter()
        for kind, count in left_out.items():
            self._tell(kind, count)


def kind_of(record: logging.LogRecord) -> str:
    """Return the kind of a library's log line: the logger, and the place in the library's code."""
    return f"{record.name} {record.filename}:{record.lineno}"


def write_few_lines() -> None:
    """Write the server's warnings to standard error, and limit them. For programs without a log of their own."""
    few = FewLines(PER_SECOND, lambda kind, count: LOG.warning("… %s more lines like this: %s", f"{count:,}", kind))
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    handler.addFilter(lambda record: few.admits(kind_of(record), traceback=bool(record.exc_info)))
    LOG.handlers = [handler]
    LOG.propagate = False
