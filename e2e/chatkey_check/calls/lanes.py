"""How many calls are under way at once: some that do not disturb each other, or a single one that is measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Final

MOST: Final = 8


class Company:
    """Whether others were under way while a call was."""

    def __init__(self) -> None:
        self.there = False


class Lanes:
    """A bound on calls under way: one until `widen`, and one again for good after `narrow`."""

    def __init__(self) -> None:
        self.width = 1
        self._changed = Condition()
        self._inside: list[Company] = []
        self._taken = False
        self._final = False

    def widen(self, alone: float, patience: float) -> None:
        """Let as many calls through as are answered in half of `patience`, should they be answered one by one.

        `alone` is how long one takes; both are seconds. Whoever has one thread is not to be blamed for it.
        """
        if not self._final:
            self.width = min(MOST, max(1, int(patience / 2 / alone))) if alone > 0 else MOST

    def narrow(self) -> None:
        """Let one call through at a time from now on: more are too many."""
        with self._changed:
            self.width, self._final = 1, True

    @contextmanager
    def one(self) -> Iterator[Company]:
        """Be one of the calls under way."""
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
        """Be the only one under way: those that are end first, and the next ones wait."""
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
