"""One run against an endpoint: the calls, and the live part (socket and browser)."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Self

from chatkey_check.calls.listed import ListedWire
from chatkey_check.calls.shared import Calls
from chatkey_check.live.legs import Live
from chatkey_check.live.service import ReferenceServer
from chatkey_check.target import Target
from chatkey_check.wire.http import HttpWire, Wire


@dataclass(frozen=True, eq=False)
class Run:
    """The object that checks judge: the calls to an endpoint, and the live part of the run. `close` ends both."""

    calls: Calls
    live: Live

    def close(self) -> None:
        """End the live part, and then the calls. The live part ends first because it makes calls."""
        with closing(self.calls.wire):
            self.live.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def opened(
    target: Target,
    *,
    wire: Wire | None = None,
    now: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
    on_wait: Callable[[float, str], None] = lambda _seconds, _why: None,
) -> Run:
    """Return a run against an endpoint. The run has not sent or started anything yet."""
    reference = ReferenceServer()
    wire = ListedWire(wire or HttpWire(target, now=now), target)
    calls = Calls(target, wire, now, sleep, on_wait=on_wait, on_token=lambda: reference.expect(target))
    return Run(calls, Live(calls, reference))
