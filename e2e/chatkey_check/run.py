"""One run against an endpoint: its calls, and its live part (socket and browser)."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from chatkey_check.calls.shared import Calls
from chatkey_check.live.legs import Live
from chatkey_check.target import Target
from chatkey_check.wire.http import HttpWire, Wire


class Run:
    """What the checks judge: the calls to an endpoint, and the live part of the run. `close` ends both."""

    def __init__(self, calls: Calls, live: Live) -> None:
        self.calls = calls
        self.live = live
        calls.watcher = live

    def close(self) -> None:
        """End the live part first, because it makes calls, and then the calls."""
        try:
            self.live.close()
        finally:
            self.calls.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def opened(
    target: Target,
    *,
    wire: Wire | None = None,
    now: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> Run:
    """Return a run against an endpoint. Nothing has been sent or started yet."""
    calls = Calls(target, wire or HttpWire(target, now=now), now=now, sleep=sleep)
    return Run(calls, Live(calls))
