"""Computes how long to wait before a retry: exponential backoff, with jitter to spread the clients out."""

from typing import Final

SOCKET_CAP: Final = 30.0
CROWD_BASE: Final = 10.0
"""Longest first wait after the server stopped. All its clients lost the connection at once; they return spread out."""

GET_TOKEN_CAP: Final = 60.0


def full_jitter(attempt: int, *, fraction: float, base: float = 1.0, cap: float = SOCKET_CAP) -> float:
    """Return the seconds before retry number `attempt` (from 1): from 0 to 1, 2, 4, … times `base`, at most `cap`."""
    return fraction * min(cap, base * 2.0 ** min(attempt - 1, 10))


def equal_jitter(attempt: int, *, fraction: float, cap: float = GET_TOKEN_CAP) -> float:
    """Return the seconds before retry number `attempt` (from 1): between half and all of 1, 2, 4, …, at most `cap`."""
    return (0.5 + 0.5 * fraction) * min(cap, 2.0 ** min(attempt - 1, 10))
