"""Limits the number of simultaneous calls: several at once, or a single call whose time is measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Final

MOST: Final = 8
MOST_AT_ONCE: Final = 16


class Company:
    """Whether other calls were in progress during a call."""

    def __init__(self) -> None:
        self.there = False


class Lanes:
    """Limits the number of simultaneous calls: one before `widen`, and permanently one after `narrow`."""

    def __init__(self) -> None:
        self.width = 1
        self._changed = Condition()
        self._inside: list[Company] = []
        self._taken = False
        self._final = False

    def widen(self, alone: float, patience: float) -> None:
        """Set the limit so that even a server that handles calls one by one answers all within half of `patience`.

        `alone` is the duration of a single call. Both are in seconds. With a higher limit, our own calls would make a
        server with a single thread look slow.
        """
        if not self._final:
            self.width = min(MOST, max(1, int(patience / 2 / alone))) if alone > 0 else MOST

    def widen_further(self) -> None:
        """Allow more calls at a time, because the endpoint has answered many at once as fast as one alone."""
        if not self._final and self.width == MOST:
            self.width = MOST_AT_ONCE

    def narrow(self) -> None:
        """From now on, allow only one call at a time, because the endpoint fails with more."""
        with self._changed:
            self.width, self._final = 1, True

    @contextmanager
    def one(self) -> Iterator[Company]:
        """Wait for a free lane, and hold the lane for one call: the call in the `with` block."""
        mine = Company()
        with self._changed:
            self._changed.wait_for(lambda: not self._taken and len(self._inside) < self.width)
            self._inside.append(mine)
            if len(self._inside) > 1:
                for company in self._inside:
                    company.there = True
        try:
            yield mine
        finally:
            with self._changed:
                self._inside.remove(mine)
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[Company]:
        """Make the call in the `with` block while no other call is in progress.

        New calls wait until this call has ended.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._taken)
            self._taken = True
            self._changed.wait_for(lambda: not self._inside)
        try:
            yield Company()
        finally:
            with self._changed:
                self._taken = False
                self._changed.notify_all()
