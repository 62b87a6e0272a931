"""Computes how long to wait before a retry: exponential backoff with random jitter."""

from typing import Final

SOCKET_CAP: Final = 30.0
CROWD_BASE: Final = 10.0
"""The longest first wait, in seconds, after a server has stopped.

All clients of the server lose their connections at the same moment. They reconnect at random moments within this time.
"""

GET_TOKEN_CAP: Final = 60.0


def full_jitter(attempt: int, *, fraction: float, base: float = 1.0, cap: float = SOCKET_CAP) -> float:
    """Return a random time in seconds to wait before retry number `attempt`. The first retry has number 1.

    The maximum is 1, 2, 4, … times `base`, and never more than `cap`.
    """
    return fraction * min(cap, base * 2.0 ** min(attempt - 1, 10))


def equal_jitter(attempt: int, *, fraction: float, cap: float = GET_TOKEN_CAP) -> float:
    """Return a random time in seconds to wait before retry number `attempt`. The first retry has number 1.

    The maximum is 1, 2, 4, …, and never more than `cap`. The result is at least half of the maximum.
    """
    return (0.5 + 0.5 * fraction) * min(cap, 2.0 ** min(attempt - 1, 10))
