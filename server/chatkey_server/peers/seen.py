"""Records which messages were sent to one socket, to avoid duplicates and to detect missing messages."""

from __future__ import annotations

from typing import Final

WINDOW: Final = 256
"""How many numbers below the highest are remembered individually. Older messages may be sent again."""
_ALL: Final = (1 << WINDOW) - 1

CALLS: Final = 8
"""How many of the newest calls are remembered."""
_STATES: Final = ("ringing", "active", "ended")
"""The states of a call, in the order in which it goes through them."""


class Seen:
    """The messages and call states that were sent to one socket.

    The socket needs no messages up to number `floor`. `floor` is None for a new socket that has not requested its
    history.
    """

    __slots__ = ("_bits", "_calls", "_top", "floor")

    def __init__(self) -> None:
        self.floor: int | None = None
        self._top = 0
        self._bits = 0
        self._calls: dict[str, str] = {}

    @property
    def highest(self) -> int:
        """The highest number of a message that was sent to the socket or that the socket could have requested."""
        return max(self._top, self.floor or 0)

    def note(self, seq: int) -> bool:
        """Record the number of a message. Returns whether the message is new for the socket."""
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
        """Raise the floor to `seq`.

        The socket has received all messages up to this number, or can request these messages.
        """
        self.floor = max(seq, self.floor or 0)
        self._raise_floor()

    def note_call(self, call_id: str, state: str) -> bool:
        """Record the state of a call. Returns False if a later state of this call was already sent to the socket."""
        known = self._calls.get(call_id)
        if known is not None and _STATES.index(state) < _STATES.index(known):
            return False
        self._calls[call_id] = state
        if len(self._calls) > CALLS:
            del self._calls[next(iter(self._calls))]
        return True

    def knows_call(self, call_id: str, state: str) -> bool:
        """Return whether `state` is the last state of this call that was sent to the socket."""
        return self._calls.get(call_id) == state

    def open_calls(self) -> set[str]:
        """Return the calls whose end was not sent to the socket."""
        return {call_id for call_id, state in self._calls.items() if state != "ended"}

    def _raise_floor(self) -> None:
        if self.floor is None:
            return
        while self.floor < self._top and self._knows(self.floor + 1):
            self.floor += 1

    def _knows(self, seq: int) -> bool:
        below = self._top - seq
        return below < WINDOW and bool(self._bits >> below & 1)
