"""The ports of the demo's servers. The ports are fixed and easy to remember, and a port that is in use is an error."""

import errno
import socket
from dataclasses import dataclass

from chatkey_demo.hub.holder import holder_of
from chatkey_stack.ports import LOOPBACK, free_ports

DEFAULT_PORT = 8800
SHOPS = 4
LAST_OFFSET = 10 + SHOPS


class BusyPortError(Exception):
    """A port of the demo is in use. The message names the port, the process if it is known, and what to do."""


@dataclass(frozen=True, slots=True)
class Places:
    """The ports of one demo: 8800 hub, 8801 service, 8802 fake provider, 8811 to 8814 shops."""

    hub: int
    service: int
    provider: int
    shops: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        return self.hub, self.service, self.provider, *self.shops


def places(port: int = DEFAULT_PORT) -> Places:
    """Return the ports, counted up from the hub's `port`, or free ports if `port` is 0. Raises `BusyPortError`."""
    if port == 0:
        hub, service, provider, *shops = free_ports(3 + SHOPS)
        return Places(hub, service, provider, tuple(shops))
    found = Places(port, port + 1, port + 2, tuple(port + 11 + number for number in range(SHOPS)))
    for needed in found.all:
        if is_busy(needed):
            raise BusyPortError(_sentence(needed, found))
    return found


def is_busy(port: int) -> bool:
    """Return whether a server listens on `localhost:port`, with IPv4 or IPv6, because browsers try both."""
    return _is_taken(socket.AF_INET, LOOPBACK, port) or _is_taken(socket.AF_INET6, "::1", port)


def _is_taken(family: socket.AddressFamily, host: str, port: int) -> bool:
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        return error.errno == errno.EADDRINUSE  # any other error: this machine has no such address
    return False


def _sentence(port: int, found: Places) -> str:
    holder = holder_of(port)
    by = f" by {holder}" if holder else ""
    shops = f"{found.shops[0]} to {found.shops[-1]}"
    return (
        f"Port {port} is in use{by}, and the demo needs {found.hub} to {found.provider} and {shops}. Stop the "
        f"program that uses this port, or move all ports with --port, for example --port {found.hub + 100}."
    )
