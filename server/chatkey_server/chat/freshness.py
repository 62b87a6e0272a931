"""Distinguishes new publications from replayed ones. Encryption proves who sent a publication, but not when."""

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
"""Channels whose payloads only make a process read the database. Commands publish on them and exit at once."""
MOST_STRANGERS: Final = 1000


class News(Enum):
    """Whether a publication is new to this process."""

    FRESH = auto()
    UNPROVEN = auto()
    """It may be a replay, because its session has not named this process yet."""
    REPLAYED = auto()


class Freshness:
    """Remembers the publications of each session, so that a replayed publication has no effect.

    A session numbers its publications, and each number must be higher than the previous one. A session is trusted as
    soon as one of its publications contains the session id of this process. That id is random, so the publication must
    have been made after this process started. In their heartbeats, processes ask each other for such publications, and
    answer such questions. A new question or answer causes a heartbeat. Clocks are not compared.
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
        """The sessions that this process asks to publish its session id."""
        return list(self._asking)

    @property
    def answers(self) -> list[bytes]:
        """The sessions that asked this process to publish their session ids."""
        return list(self._answering)

    def judge(self, said: Opened, message: Message, beat: int) -> News:
        """Classify a publication and remember it. `beat` is the number of this process's current heartbeat."""
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
        """Return whether this session has published the session id of this process."""
        return session in self._last

    def forget(self, before: int) -> None:
        """Drop the questions and answers that were recorded before heartbeat number `before` of this process."""
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
    """Store a session as the newest entry, and remove the oldest entry if there are too many."""
    numbers[session] = number
    if len(numbers) > MOST_STRANGERS:
        del numbers[next(iter(numbers))]
