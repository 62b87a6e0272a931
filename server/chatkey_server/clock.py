"""The server's clock. All code that needs the time receives this clock. Only the lab can change the clock (D-13)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

Now = Callable[[], float]
"""Seconds since the epoch."""

LONGEST_TIMER = 3600.0


class Alarm:
    """Calls a function once when a clock reaches a given time, unless the alarm is cancelled first."""

    __slots__ = ("_callback", "_clock", "_loop", "_timer", "when")

    def __init__(self, clock: Clock, when: float, callback: Callable[[], None]) -> None:
        self._clock = clock
        self.when = when
        self._callback = callback
        self._loop = asyncio.get_running_loop()
        self._timer = self._wait()

    def cancel(self) -> None:
        self._timer.cancel()
        self._clock.alarms.discard(self)

    def moved(self) -> None:
        """Check the time again after the clock was moved. Can be called from any thread."""
        self._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        if self not in self._clock.alarms:
            return  # cancelled or already called
        self._timer.cancel()
        if self._clock() < self.when:
            self._timer = self._wait()
            return
        self._clock.alarms.discard(self)
        self._callback()

    def _wait(self) -> asyncio.TimerHandle:
        left = max(0.0, self.when - self._clock())
        return self._loop.call_later(min(left, LONGEST_TIMER), self._look)


class Clock:
    """The system's time plus an offset."""

    def __init__(self, source: Now = time.time) -> None:
        self._source = source
        self.offset = 0.0
        self.alarms: set[Alarm] = set()

    def __call__(self) -> float:
        return self._source() + self.offset

    def advance(self, seconds: float, *, alarms: bool = True) -> float:
        """Move the clock forward, call the alarms that are due, and return the new time. Can be called from any thread.

        Without `alarms`, alarms that become due are called when the clock is next moved, even if only by 0.
        """
        self.offset += seconds
        if alarms:
            self._moved()
        return self()

    def reset(self) -> float:
        """Return to the system's time, and return that time."""
        self.offset = 0.0
        self._moved()
        return self()

    def call_at(self, when: float, callback: Callable[[], None]) -> Alarm:
        """Call `callback` as soon as this clock reaches `when`, even if the clock is moved.

        Checks at least once an hour.
        """
        alarm = Alarm(self, when, callback)
        self.alarms.add(alarm)
        return alarm

    def _moved(self) -> None:
        for alarm in tuple(self.alarms):
            alarm.moved()


def moment(seconds: float) -> str:
    """Format a time for people, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
