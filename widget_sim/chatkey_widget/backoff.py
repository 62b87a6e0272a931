"""How long to wait before trying again: exponential, with jitter so that a crowd does not return at once."""

from typing import Final

SOCKET_CAP: Final = 30.0
CROWD_BASE: Final = 10.0
"""First longest wait after a server that stopped: it lost everybody at once, and they come back over this time."""

GET_TOKEN_CAP: Final = 60.0


def full_jitter(attempt: int, *, fraction: float, base: float = 1.0, cap: float = SOCKET_CAP) -> float:
    """Return seconds before retry number `attempt` (from 1): anything between nothing and 1, 2, 4, … times `base`."""
    return fraction * min(cap, base * 2.0 ** min(attempt - 1, 10))


def equal_jitter(attempt: int, *, fraction: float, cap: float = GET_TOKEN_CAP) -> float:
    """Return seconds before retry number `attempt` (from 1): between half of and all of 1, 2, 4, … `cap`."""
    return (0.5 + 0.5 * fraction) * min(cap, 2.0 ** min(attempt - 1, 10))
