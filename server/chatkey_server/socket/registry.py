"""The sockets that are open in this process: to close them all, and to know who still has one."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Protocol

from chatkey_server.identity.errors import Refused


class Closable(Protocol):
    """An open socket, a person's or an agent's."""

    async def refuse(self, refused: Refused) -> None:
        """Say why, and close."""


class Sockets:
    """All open sockets of this process, and how many each party has."""

    def __init__(self) -> None:
        self._open: set[Closable] = set()
        self._parties: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, socket: Closable) -> None:
        """Count a socket that has been accepted."""
        self._open.add(socket)

    def remove(self, socket: Closable) -> None:
        """Forget a socket that is gone."""
        self._open.discard(socket)

    def join(self, party: str) -> None:
        """Count one more socket of the party."""
        self._parties[party] += 1

    def leave(self, party: str) -> None:
        """Count one socket of the party less."""
        self._parties[party] -= 1
        if not self._parties[party]:
            del self._parties[party]

    def is_here(self, party: str) -> bool:
        """Tell whether the party has a socket in this process."""
        return party in self._parties

    async def close_all(self, refused: Refused) -> None:
        """Close every socket, giving all of them the same reason; a peer that does not read is not waited for."""
        await asyncio.gather(*(socket.refuse(refused) for socket in tuple(self._open)))
