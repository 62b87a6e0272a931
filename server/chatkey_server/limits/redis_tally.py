"""Keeps the counts of `limits.allowances` in Redis, so that all processes share these counts."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from chatkey_server.identity.errors import RateLimited
from chatkey_server.limits.allowances import Allowances, Charge

PATIENCE_SECONDS: Final = 0.5
"""Timeout for one request to Redis. After that, Redis counts as away."""
AGAIN_SECONDS: Final = 1.0
"""How long after a failure Redis is asked again."""
SHARE_SECONDS: Final = 0.1
"""How long charges are collected before they are shared, so that a message does not wait for this work."""
CONNECTIONS: Final = 16
AWAY: Final = (RedisError, OSError, TimeoutError)

# Each key holds the time at which its allowance is full again. All charges succeed, or none. Full allowances expire.
TAKE: Final = """
local now = tonumber(ARGV[1])
local whole = {}
for i, key in ipairs(KEYS) do
  whole[i] = math.max(tonumber(redis.call('GET', key) or '0'), now) + tonumber(ARGV[2 * i])
  local wait = whole[i] - now - tonumber(ARGV[2 * i + 1])
  if wait > 0 then return {i, string.format('%.6f', wait)} end
end
for i, key in ipairs(KEYS) do
  redis.call('SET', key, string.format('%.6f', whole[i]), 'PX', math.ceil((whole[i] - now) * 1000) + 1000)
end
return {0, '0'}
"""
# Takes all charges, even if an allowance is too small, and returns the new times.
ADD: Final = """
local now = tonumber(ARGV[1])
local wholes = {}
for i, key in ipairs(KEYS) do
  local whole = math.max(tonumber(redis.call('GET', key) or '0'), now) + tonumber(ARGV[i + 1])
  wholes[i] = string.format('%.6f', whole)
  redis.call('SET', key, wholes[i], 'PX', math.ceil((whole - now) * 1000) + 1000)
end
return wholes
"""

log = structlog.get_logger("chatkey.limits")


class RedisTally:
    """Counts in Redis while Redis responds. Otherwise each process counts alone, and one line is logged.

    `name_of` returns a key name that is unique to the deployment and does not reveal who is counted.
    """

    def __init__(self, url: str, name_of: Callable[[str], str]) -> None:
        self._url = url
        self._name_of = name_of
        self._again_at = 0.0
        self._is_away = False
        self._resets = 0
        self._unshared: list[Charge] = []
        self._unshared_at = 0.0
        self._sharing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold a connection pool while the context lasts. Connections are opened when needed."""
        # No retries in redis-py: each one would take the full timeout again.
        pool = BlockingConnectionPool.from_url(
            self._url,
            max_connections=CONNECTIONS,
            timeout=PATIENCE_SECONDS,
            socket_connect_timeout=PATIENCE_SECONDS,
            socket_timeout=None,  # each use has a timeout around it; a timeout in redis-py would cost a task
            retry=Retry(NoBackoff(), 0),
        )
        redis = Redis.from_pool(pool)
        self._take, self._add = redis.register_script(TAKE), redis.register_script(ADD)
        try:
            yield
        finally:
            with suppress(*AWAY):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self.shared()
            with suppress(*AWAY):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await redis.aclose()

    async def take(self, charges: Sequence[Charge], now: float) -> None:
        """Take all charges or none. While Redis cannot be reached, everything is allowed. Raises `RateLimited`."""
        counted = [charge for charge in charges if charge.allowances.is_limit]
        if not counted or not self._may_ask():
            return
        costs = [number for charge in counted for number in charge.allowances.price(charge.amount)]
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                at, wait = await self._take(
                    keys=[self._key(one.allowances, one.name) for one in counted], args=[now, *costs]
                )
        except AWAY as error:
            self._lost(error)
            return
        self._back()
        if at:
            raise RateLimited(math.ceil(float(wait)), counted[at - 1].whose)

    def share(self, charges: Sequence[Charge], now: float) -> None:
        """Take all charges a moment later, if Redis is available, and then learn what other processes have taken."""
        self._unshared += [charge for charge in charges if charge.allowances.is_limit]
        self._unshared_at = now
        if self._unshared and (self._sharing is None or self._sharing.done()):
            self._sharing = asyncio.create_task(self._share())

    async def shared(self) -> None:
        """Wait until everything taken so far is shared."""
        if self._sharing is not None:
            await self._sharing

    def reset(self) -> None:
        """Use new key names from now on. The old counts expire."""
        self._resets += 1
        self._unshared.clear()

    async def _share(self) -> None:
        while self._unshared:
            await asyncio.sleep(SHARE_SECONDS)
            charges, self._unshared = self._unshared, []
            await self._add_up(charges, self._unshared_at)

    async def _add_up(self, charges: Sequence[Charge], now: float) -> None:
        costs: dict[tuple[Allowances, str], float] = {}
        for allowances, name, amount, _ in charges:
            costs[allowances, name] = costs.get((allowances, name), 0.0) + allowances.price(amount)[0]
        if not costs or not self._may_ask():
            return
        resets = self._resets
        keys = [self._key(*counted) for counted in costs]
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                wholes = await self._add(keys=keys, args=[now, *costs.values()])
        except AWAY as error:
            self._lost(error)
            return
        self._back()
        if resets == self._resets:
            for (allowances, name), whole_at in zip(costs, wholes, strict=True):
                allowances.catch_up(name, float(whole_at))

    def _key(self, allowances: Allowances, name: str) -> str:
        return self._name_of(f"limit:{self._resets}:{allowances.kind}:{name}")

    def _may_ask(self) -> bool:
        return asyncio.get_running_loop().time() >= self._again_at

    def _lost(self, error: Exception) -> None:
        self._again_at = asyncio.get_running_loop().time() + AGAIN_SECONDS
        if not self._is_away:
            self._is_away = True
            log.warning(
                "limits.alone",
                reason=type(error).__name__,
                remedy="until Redis is back, each process counts separately",
            )

    def _back(self) -> None:
        if self._is_away:
            self._is_away = False
            log.warning("limits.together")
