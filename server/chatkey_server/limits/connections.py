"""Limits the open connections of each client address, HTTP and WebSocket together."""

from __future__ import annotations

from collections import Counter
from typing import Final

from chatkey_protocol.codes import Code
from chatkey_server import metrics
from chatkey_server.limits.clients import counted_as
from chatkey_serving.forwarded import is_within, networks_of

PER_SOCKET: Final = 2
"""How many connections an address may have per allowed socket. A page also makes requests while its socket is open."""

MOST_UNFINISHED: Final = 16 * 1024 * 1024
"""How many bytes of unfinished requests one address may hold. A request of a page arrives in one packet."""


class Connections:
    """Counts the open connections of each client address, and the bytes of unfinished requests that they hold.

    0 sockets mean that connections have no limit. Trusted proxies are not counted.
    """

    def __init__(self, sockets: int, ipv6_prefix: int, trusted_proxies: str) -> None:
        self._most = PER_SOCKET * sockets
        self._prefix = ipv6_prefix
        self._proxies = networks_of(trusted_proxies)
        self._counts: Counter[str] = Counter()
        self._unfinished: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._counts.total()

    def admit(self, address: str) -> bool:
        """Count one more connection. Returns False if this address has reached its limit."""
        if not self._most or self._is_proxy(address):
            return True
        client = counted_as(address, self._prefix)
        if self._counts[client] >= self._most:
            metrics.refused(Code.TOO_MANY_SOCKETS)
            return False
        self._counts[client] += 1
        return True

    def release(self, address: str) -> None:
        if not self._most or self._is_proxy(address):
            return
        client = counted_as(address, self._prefix)
        self._counts[client] -= 1
        if not self._counts[client]:
            del self._counts[client]

    def hold(self, address: str, more: int) -> bool:
        """Count bytes of an unfinished request. Returns False if this address has reached its limit."""
        if self._is_proxy(address):
            return True
        client = counted_as(address, self._prefix)
        self._unfinished[client] += more
        if not self._unfinished[client]:
            del self._unfinished[client]
        return self._unfinished[client] <= MOST_UNFINISHED

    def _is_proxy(self, address: str) -> bool:
        return is_within(self._proxies, address)
