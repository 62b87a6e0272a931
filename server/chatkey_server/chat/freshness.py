"""Tells new publications from replayed ones: a seal shows who published something, not when."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from chatkey_server.chat.events import AGENT_SESSIONS, PROVIDERS
from chatkey_server.chat.hub import MISSED
from chatkey_server.chat.messages import BEATS

if TYPE_CHECKING:
    from chatkey_server.chat.messages import Message
    from chatkey_server.chat.seal import Opened

HINTS: Final = frozenset({AGENT_SESSIONS, PROVIDERS, MISSED})
"""Channels whose payloads only make a process look into the database. Commands publish on them and end at once."""
MOST_STRANGERS: Final = 1000


class News(Enum):
    """What a publication is to this process."""

    FRESH = auto()
    UNPROVEN = auto()
    """It may be a replay: its session has not named this process yet."""
    REPLAYED = auto()


class Freshness:
    """Keeps what was heard of each session, so that a replayed publication has no effect.

    A session numbers its publications, and a number counts only if it is higher than the last one. The first
    publication that counts has to name this process: its session id is random, so whoever names it speaks after this
    process began. Processes ask each other for that, and answer, in their beats; a beat is due when there is a new
    question or answer. Clocks are not compared.
    """

    def __init__(self, own: bytes) -> None:
        self._own = own
        self._last = {own: -1}
        self._hints: dict[bytes, int] = {}
        self._asking: dict[bytes, int] = {}
        self._answering: dict[bytes, int] = {}
        self.is_due = False

    @property
    def asks(self) -> list[bytes]:
        """The sessions that are to name this process."""
        return list(self._asking)

    @property
    def answers(self) -> list[bytes]:
        """The sessions that asked to be named."""
        return list(self._answering)

    def judge(self, said: Opened, message: Message, beat: int) -> News:
        """Say what a publication is, and remember it; `beat` is the current beat of this process."""
        is_named = self._own in message.asks or self._own in message.answers
        if said.session not in self._last and not is_named:
            return self._of_a_stranger(said, message, beat)
        if said.number <= self._last.get(said.session, -1):
            return News.REPLAYED
        self._last[said.session] = said.number
        self._asking.pop(said.session, None)
        if self._own in message.asks:
            self._mention(self._answering, said.session, beat)
        return News.FRESH

    def trusts(self, session: bytes) -> bool:
        """Tell whether a session has named this process."""
        return session in self._last

    def forget(self, before: int) -> None:
        """Drop questions and answers that are older than a beat of this process."""
        self._asking = {session: beat for session, beat in self._asking.items() if beat >= before}
        self._answering = {session: beat for session, beat in self._answering.items() if beat >= before}

    def _of_a_stranger(self, said: Opened, message: Message, beat: int) -> News:
        if message.channel in HINTS:
            last = self._hints.pop(said.session, -1)
            _note(self._hints, said.session, max(last, said.number))
            return News.FRESH if said.number > last else News.REPLAYED
        if message.channel == BEATS:
            self._mention(self._asking, said.session, beat)
        return News.UNPROVEN

    def _mention(self, sessions: dict[bytes, int], session: bytes, beat: int) -> None:
        self.is_due |= session not in sessions
        sessions.pop(session, None)
        _note(sessions, session, beat)


def _note(numbers: dict[bytes, int], session: bytes, number: int) -> None:
    """Put a session at the end, and forget the first one if there are too many."""
    numbers[session] = number
    if len(numbers) > MOST_STRANGERS:
        del numbers[next(iter(numbers))]
