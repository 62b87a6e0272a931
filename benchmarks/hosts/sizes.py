"""The sizes of a benchmark run."""

from __future__ import annotations

from typing import Final, NamedTuple


class Size(NamedTuple):
    """The numbers of repetitions, members, widgets, idle sockets and messages, and the seconds of a measurement."""

    times: int
    members: int
    widgets: int
    idle: int
    messages: int
    seconds: float


WHOLE: Final = Size(times=20, members=12, widgets=2000, idle=5000, messages=1_000_000, seconds=20)
QUICK: Final = Size(times=1, members=6, widgets=200, idle=500, messages=100_000, seconds=5)
