"""Redis as the hub's backend: fan-out between processes and hosts, which mends itself when Redis comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import Any, Final

import structlog
from litestar.channels.backends.redis import RedisChannelsPubSubBackend
from redis.asyncio import Redis
from redis.exceptions import RedisError

RETRY_SECONDS: Final = 1.0

log = structlog.get_logger("chatkey.hub")


def steady_backend(redis_url: str) -> SteadyRedisBackend:
    """Return the backend for a Redis address; it connects when it is first used."""
    return SteadyRedisBackend(redis=Redis.from_url(redis_url), key_prefix="chatkey")


class SteadyRedisBackend(RedisChannelsPubSubBackend):
    """Litestar's backend, whose workers would end for good with the first lost connection.

    What is published while Redis is away is not repeated: it is stored, and read again as history.
    """

    async def publish(self, data: bytes, channels: Iterable[str]) -> None:
        """Publish, or log that nobody elsewhere heard of it."""
        try:
            await super().publish(data, channels)
        except (RedisError, OSError) as away:
            log.warning("hub.unheard", reason=type(away).__name__)

    async def stream_events(self) -> AsyncGenerator[tuple[str, Any], None]:
        """Yield channel and payload of what is published, for as long as the process lives."""
        while True:
            try:
                async for event in super().stream_events():
                    yield event
            except (RedisError, OSError) as away:
                log.warning("hub.lost", reason=type(away).__name__)
                await asyncio.sleep(RETRY_SECONDS)

    async def on_shutdown(self) -> None:
        """Let the connections go."""
        await super().on_shutdown()
        await self._redis.aclose()
