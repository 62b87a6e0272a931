"""Free TCP ports on loopback for processes that are about to start."""

import socket
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Return `count` different ports nobody listens on; all are held until the last is found."""
    with ExitStack() as held:
        return [_bound(held).getsockname()[1] for _ in range(count)]


def _bound(held: ExitStack) -> socket.socket:
    listener = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    listener.bind((LOOPBACK, 0))
    return listener
