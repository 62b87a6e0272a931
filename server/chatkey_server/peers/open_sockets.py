"""Keeps the open sockets of this process, counts them per person and address, and can close all of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused

if TYPE_CHECKING:
    from chatkey_server.settings import Limits


class Closable(Protocol):
    """An open socket of a person or an agent."""

    async def refuse(self, refused: Refused) -> None:
        """Send the reason to the peer, and close the socket with the matching close code."""


class Crowd:
    """Counts the open sockets of each name, and limits their number. A limit of 0 means no limit."""

    def __init__(self, who: str, most: int) -> None:
        self._who = who
        self._most = most
        self._counts: Counter[str] = Counter()

    def __contains__(self, name: str) -> bool:
        return name in self._counts

    def __len__(self) -> int:
        return len(self._counts)

    def join(self, name: str) -> None:
        """Count one more socket. Raises `Refused(too_many_sockets)`."""
        if self._most and self._counts[name] >= self._most:
            raise Refused(
                Code.TOO_MANY_SOCKETS,
                f"This {self._who} has {self._most} sockets open, which is the limit; close one first.",
            )
        self._counts[name] += 1

    def leave(self, name: str) -> None:
        self._counts[name] -= 1
        if not self._counts[name]:
            del self._counts[name]


class Sockets:
    """All open sockets of this process, and the number of sockets of each person and each client address."""

    def __init__(self, limits: Limits) -> None:
        self._open: set[Closable] = set()
        self.is_leaving = False
        """Whether the process is about to stop, so that load balancers should send new clients elsewhere."""
        self.parties = Crowd("identity", limits.sockets_per_identity)
        self.addresses = Crowd("address", limits.sockets_per_address)

    def __len__(self) -> int:
        return len(self._open)

    def add(self, socket: Closable) -> None:
        self._open.add(socket)

    def remove(self, socket: Closable) -> None:
        self._open.discard(socket)

    async def close_all(self, refused: Refused, *, over: float = 0.0) -> None:
        """Close every socket with the same reason. A peer that does not read is not waited for.

        With `over`, the sockets are closed one by one within that many seconds, so that clients do not reconnect all at
        once.
        """
        closing = []
        waiting = tuple(self._open) if over else ()
        for socket in waiting:
            closing.append(asyncio.create_task(socket.refuse(refused)))
            await asyncio.sleep(over / len(waiting))
        await asyncio.gather(*closing, *(socket.refuse(refused) for socket in tuple(self._open)))
