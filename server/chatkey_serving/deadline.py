"""A deadline that is moved with every request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class Deadline:
    """Calls a function after a time, unless it is stopped or started again before.

    Starting again is cheap: a timer that fires too early waits for the rest, so the event loop's timer seldom changes.
    """

    __slots__ = ("_act", "_due", "_fires", "_loop", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._act: Callable[[], None] | None = None
        self._due = self._fires = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def due(self) -> float | None:
        """When the function will be called, in the event loop's time."""
        return None if self._act is None else self._due

    def start(self, seconds: float, act: Callable[[], None]) -> None:
        self._act = act
        self._due = self._loop.time() + seconds
        if self._timer is None or self._fires > self._due:
            self._wait()

    def stop(self) -> None:
        self._act = None

    def end(self) -> None:
        """Stop for good."""
        self._act = None
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._fires = self._due
        self._timer = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._act is None:
            return
        if self._due > self._loop.time():
            self._wait()
            return
        act, self._act = self._act, None
        act()
