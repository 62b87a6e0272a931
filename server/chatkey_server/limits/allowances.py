"""Rate limits per client address: in memory, bounded, on the server's clock."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Final

from chatkey_server.clock import Now
from chatkey_server.identity.errors import RateLimited

if TYPE_CHECKING:
    from litestar.types import Scope

WINDOW_SECONDS: Final = 60.0
MOST_CLIENTS: Final = 20_000


class RateLimit:
    """Lets each client make `per_minute` requests at once, and then as many per minute evenly; 0 means no limit.

    For each client one number is kept, the time at which its allowance is whole again. When there are too many
    clients, those with a whole allowance are forgotten, and if that is not enough the half longest known.
    """

    def __init__(self, per_minute: int, now: Now, *, most_clients: int = MOST_CLIENTS) -> None:
        self._interval = WINDOW_SECONDS / per_minute if per_minute else 0.0
        self._now = now
        self._most_clients = most_clients
        self._whole_at: dict[str, float] = {}

    def check(self, scope: Scope) -> None:
        """Count one request of the client of this connection. Raises `RateLimited` when it is one too many."""
        if not self._interval:
            return
        client = scope["client"][0] if scope["client"] else ""
        now = self._now()
        whole_at = max(self._whole_at.get(client, 0.0), now) + self._interval
        if (excess := whole_at - now - WINDOW_SECONDS) > 0:
            raise RateLimited(math.ceil(excess))
        if client not in self._whole_at and len(self._whole_at) >= self._most_clients:
            self._forget(now)
        self._whole_at[client] = whole_at

    def reset(self) -> None:
        """Forget every client."""
        self._whole_at.clear()

    def _forget(self, now: float) -> None:
        self._whole_at = {client: at for client, at in self._whole_at.items() if at > now}
        if (known := len(self._whole_at)) >= self._most_clients:
            self._whole_at = dict(islice(self._whole_at.items(), known // 2, None))
