"""The interface for counting connections. A WebSocket and the HTTP connection from which it was upgraded count once."""

from __future__ import annotations

from typing import Protocol


class Door(Protocol):
    """Counts the open connections of each client address."""

    def admit(self, address: str, /) -> bool:
        """Count one more connection. Returns False if this address has too many connections."""
        ...

    def release(self, address: str, /) -> None: ...
