"""Who counts the connections: the same for HTTP and for the sockets that it turns into."""

from __future__ import annotations

from typing import Protocol


class Door(Protocol):
    """Counts the open connections of each client address."""

    def admit(self, address: str, /) -> bool:
        """Count one more connection; False if this address has too many."""
        ...

    def release(self, address: str, /) -> None:
        """Count one connection less."""
        ...
