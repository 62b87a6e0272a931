"""Free TCP ports on loopback for processes that are about to start."""

import random
import socket
from contextlib import ExitStack, suppress
from typing import Final

LOOPBACK: Final = "127.0.0.1"
OFFERED: Final = range(20_000, 32_768)
"""Below what systems give to outgoing connections, any of which would else take a port before its server starts."""


def free_ports(count: int) -> list[int]:
    """Return `count` different ports nobody listens on; all are held until the last is found.

    Raises `OSError` where so many are not free.
    """
    with ExitStack() as held:
        found: list[int] = []
        for port in random.SystemRandom().sample(OFFERED, len(OFFERED)):
            listener = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            with suppress(OSError):  # somebody has it
                listener.bind((LOOPBACK, port))
                found.append(port)
            if len(found) == count:
                return found
    raise OSError(f"this machine has no {count} free ports from {OFFERED[0]} to {OFFERED[-1]}")
