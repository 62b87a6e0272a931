"""Opens clients for the address of Redis: of one server, or of the primary that Sentinels name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from redis.asyncio import Redis, Sentinel
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

SENTINEL: Final = "redis+sentinel://"
SENTINEL_PORT: Final = 26379
CLOSING_SECONDS: Final = 0.5


@asynccontextmanager
async def opened(url: str, *, connect_within: float) -> AsyncIterator[Redis]:
    """Hold a client while the context lasts. It connects when needed; `connect_within` is in seconds."""
    # No retries in redis-py: a connection that it reopens silently has missed messages in between.
    # No timeout in redis-py: it would cost a task for each request.
    options: dict[str, Any] = {
        "retry": Retry(NoBackoff(), 0),
        "socket_connect_timeout": connect_within,
        "socket_timeout": None,
    }
    sentinels = _sentinels(url, options) if url.startswith(SENTINEL) else None
    redis = Redis.from_url(url, protocol=2, **options) if sentinels is None else _primary(sentinels, url, options)
    try:
        yield redis
    finally:
        with suppress(RedisError, OSError):
            async with asyncio.timeout(CLOSING_SECONDS):
                for one in [redis, *(sentinels.sentinels if sentinels else ())]:
                    await one.aclose()


def _sentinels(url: str, options: dict[str, Any]) -> Sentinel:
    hosts = urlsplit(url).netloc.rpartition("@")[2].split(",")
    places = [urlsplit(f"//{host}") for host in hosts]
    addresses = [(place.hostname, place.port or SENTINEL_PORT) for place in places]
    return Sentinel(addresses, sentinel_kwargs=options)  # type: ignore[no-untyped-call]  # redis-py leaves it out


def _primary(sentinels: Sentinel, url: str, options: dict[str, Any]) -> Redis:
    """Return a client of the primary of `/service/database`. User and password of the address are for Redis itself."""
    parts = urlsplit(url)
    user, _, password = map(unquote, parts.netloc.rpartition("@")[0].partition(":"))
    service, _, database = parts.path.removeprefix("/").partition("/")
    login = {"username": user or None, "password": password or None, "db": int(database or 0)}
    primary: Redis = sentinels.master_for(service, protocol=2, **options | login)
    return primary
