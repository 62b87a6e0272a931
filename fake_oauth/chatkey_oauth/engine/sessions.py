"""Sessions of browsers at a provider: who is signed in since when, and at which applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from chatkey_oauth.engine.grants import Ring

if TYPE_CHECKING:
    from collections.abc import Callable


class Session(msgspec.Struct):
    """One person who is signed in with one browser. `key` is the value of the browser's cookie.

    `sid` identifies the session to applications. `clients` are the applications at which the person has logged in, by
    client id, with the subject of the person there.
    """

    key: str
    sid: str
    person_id: str
    auth_time: int
    clients: dict[str, str] = {}


class Sessions:
    """The sessions of one provider. The newest sessions are kept."""

    def __init__(self, random: Callable[[int], bytes]) -> None:
        self._random = random
        self._by_key: Ring[Session] = Ring()

    def begin(self, person_id: str, now: int) -> Session:
        session = Session(self._random(16).hex(), self._random(16).hex(), person_id, now)
        self._by_key.put(session.key, session)
        return session

    def get(self, key: str | None) -> Session | None:
        return self._by_key.get(key or "")

    def by_sid(self, sid: object) -> Session | None:
        return next((one for one in self._by_key.newest_first() if one.sid == sid), None)

    def end(self, session: Session) -> None:
        self._by_key.pop(session.key)

    def all(self) -> list[Session]:
        """Return all sessions, newest first."""
        return self._by_key.newest_first()

    def clear(self) -> None:
        self._by_key.clear()
