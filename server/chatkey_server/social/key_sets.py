"""Caches the signing keys of social providers for an hour."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from chatkey_server.social import id_token

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

    from chatkey_server.clock import Now
    from chatkey_server.social.provider import Json

LIFETIME_SECONDS: Final = 3600


class KeySets:
    """Caches JWK sets by address."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._kept: dict[str, tuple[float, KeySet]] = {}

    async def get(self, url: str, fetch: Callable[[str], Awaitable[Json]], *, fresh: bool) -> KeySet:
        """Return the key set at an address. Fetch the key set if it is not cached, or if `fresh` is set."""
        fetched_at, keys = self._kept.get(url, (0.0, None))
        if keys is None or fresh or not 0 <= self._now() - fetched_at < LIFETIME_SECONDS:
            keys = id_token.read_keys(await fetch(url))
            self._kept[url] = (self._now(), keys)
        return keys
