"""What one socket was told of its conversation, so that nothing is told twice and what is missing can be named."""

from __future__ import annotations

from typing import Final

WINDOW: Final = 256
"""How many numbers below the highest are remembered one by one. Older messages may be told again."""
_ALL: Final = (1 << WINDOW) - 1

CALLS: Final = 8
"""How many calls are remembered, the newest ones."""
_STATES: Final = ("ringing", "active", "ended")
"""The states of a call, in the only order in which it goes through them."""


class Seen:
    """The numbers of the messages that a socket was told, and how far its calls have come.

    `floor` is the number up to which the socket needs nothing more; None while that is unknown, because the socket is
    new and has not asked for its history.
    """

    __slots__ = ("_bits", "_calls", "_top", "floor")

    def __init__(self) -> None:
        self.floor: int | None = None
        self._top = 0
        self._bits = 0
        self._calls: dict[str, str] = {}

    @property
    def highest(self) -> int:
        """The highest number that the socket was told, or could have asked for."""
        return max(self._top, self.floor or 0)

    def note(self, seq: int) -> bool:
        """Remember a message by its number; return whether it is new."""
        if self.floor is not None and seq <= self.floor:
            return False
        above = seq - self._top
        if above > 0:
            self._bits = 1 if above >= WINDOW else (self._bits << above | 1) & _ALL
            self._top = seq
            self._raise_floor()
            return True
        bit = 1 << -above if above > -WINDOW else 0
        is_known = bool(self._bits & bit)
        self._bits |= bit
        self._raise_floor()
        return not is_known

    def settle(self, seq: int) -> None:
        """Raise the floor to this number: the socket was told everything up to it, or can ask for what it lacks."""
        self.floor = max(seq, self.floor or 0)
        self._raise_floor()

    def note_call(self, call_id: str, state: str) -> bool:
        """Remember the state of a call; return False if the socket knows a later state of this call."""
        known = self._calls.get(call_id)
        if known is not None and _STATES.index(state) < _STATES.index(known):
            return False
        self._calls[call_id] = state
        if len(self._calls) > CALLS:
            del self._calls[next(iter(self._calls))]
        return True

    def knows_call(self, call_id: str, state: str) -> bool:
        """Return whether the socket was told that the call is in this state."""
        return self._calls.get(call_id) == state

    def open_calls(self) -> set[str]:
        """Return the calls that have not ended, as far as the socket was told."""
        return {call_id for call_id, state in self._calls.items() if state != "ended"}

    def _raise_floor(self) -> None:
        if self.floor is None:
            return
        while self.floor < self._top and self._knows(self.floor + 1):
            self.floor += 1

    def _knows(self, seq: int) -> bool:
        below = self._top - seq
        return below < WINDOW and bool(self._bits >> below & 1)
