"""Where everything of the demo listens: fixed, memorable ports, found free or refused in a sentence."""

import errno
import socket
from dataclasses import dataclass

from chatkey_demo.hub.holder import holder_of
from chatkey_stack.ports import LOOPBACK, free_ports

DEFAULT_PORT = 8800
SHOPS = 4
LAST_OFFSET = 10 + SHOPS


class BusyPortError(Exception):
    """A port the demo needs is taken; the message names it, who has it where that can be told, and the way out."""


@dataclass(frozen=True, slots=True)
class Places:
    """The ports of one demo: 8800 the hub, 8801 the service, 8802 the fake provider, 8811 to 8814 the shops."""

    hub: int
    service: int
    provider: int
    shops: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        """Every port."""
        return self.hub, self.service, self.provider, *self.shops


def places(port: int = DEFAULT_PORT) -> Places:
    """Return the ports counted from the hub's, or free ones anywhere for 0. Raises `BusyPortError`."""
    if port == 0:
        hub, service, provider, *shops = free_ports(3 + SHOPS)
        return Places(hub, service, provider, tuple(shops))
    found = Places(port, port + 1, port + 2, tuple(port + 11 + number for number in range(SHOPS)))
    for needed in found.all:
        if is_busy(needed):
            raise BusyPortError(_sentence(needed, found))
    return found


def is_busy(port: int) -> bool:
    """Tell whether somebody listens on `localhost:port`, by either of the addresses a browser tries."""
    return _is_taken(socket.AF_INET, LOOPBACK, port) or _is_taken(socket.AF_INET6, "::1", port)


def _is_taken(family: socket.AddressFamily, host: str, port: int) -> bool:
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        return error.errno == errno.EADDRINUSE  # anything else: this machine has no such address
    return False


def _sentence(port: int, found: Places) -> str:
    holder = holder_of(port)
    by = f" by {holder}" if holder else ""
    shops = f"{found.shops[0]} to {found.shops[-1]}"
    return (
        f"Port {port} is in use{by}, and the demo needs {found.hub} to {found.provider} and {shops}: "
        f"stop what uses it, or move them all with --port, for instance --port {found.hub + 100}."
    )
