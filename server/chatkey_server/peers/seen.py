"""Which messages of its conversation a socket was told, so that what comes on two ways is told once."""

from __future__ import annotations

from typing import Final

WINDOW: Final = 256
"""Numbers that are remembered below the highest; of older ones nothing is known, and they are told."""
_ALL: Final = (1 << WINDOW) - 1


class Seen:
    """Remembers the newest numbers, one bit each."""

    __slots__ = ("_bits", "_top")

    def __init__(self) -> None:
        self._top = 0
        self._bits = 0

    def note(self, seq: int) -> bool:
        """Remember a number; tell whether it is new."""
        above = seq - self._top
        if above > 0:
            self._bits = 1 if above >= WINDOW else (self._bits << above | 1) & _ALL
            self._top = seq
            return True
        bit = 1 << -above if above > -WINDOW else 0
        is_known = bool(self._bits & bit)
        self._bits |= bit
        return not is_known
