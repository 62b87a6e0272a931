"""Finds free TCP ports on loopback for processes that will be started."""

import random
import socket
from contextlib import ExitStack, suppress
from typing import Final

LOOPBACK: Final = "127.0.0.1"
OFFERED: Final = range(20_000, 32_768)
"""Below the range that systems use for outgoing connections, which could take a port before its server starts."""


def free_ports(count: int) -> list[int]:
    """Return `count` different free ports. All ports are held until the last port is found.

    Raises `OSError` if there are not enough free ports.
    """
    with ExitStack() as held:
        found: list[int] = []
        for port in random.SystemRandom().sample(OFFERED, len(OFFERED)):
            listener = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            with suppress(OSError):  # the port is taken
                listener.bind((LOOPBACK, port))
                found.append(port)
            if len(found) == count:
                return found
    raise OSError(f"this machine does not have {count} free ports between {OFFERED[0]} and {OFFERED[-1]}")
