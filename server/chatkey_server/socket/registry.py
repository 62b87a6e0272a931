"""The sockets that are open in this process: to close them all, and to know who still has one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
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

    @contextmanager
    def opened(self, socket: Closable) -> Iterator[None]:
        """Count the socket while the context lasts."""
        self._open.add(socket)
        try:
            yield
        finally:
            self._open.discard(socket)

    @contextmanager
    def joined(self, party: str) -> Iterator[None]:
        """Count one socket of the party while the context lasts."""
        self._parties[party] += 1
        try:
            yield
        finally:
            self._parties[party] -= 1
            if not self._parties[party]:
                del self._parties[party]

    def is_here(self, party: str) -> bool:
        """Tell whether the party has a socket in this process."""
        return party in self._parties

    async def close_all(self, refused: Refused) -> None:
        """Close every socket, giving all of them the same reason; a peer that does not read is not waited for."""
        await asyncio.gather(*(socket.refuse(refused) for socket in tuple(self._open)))
