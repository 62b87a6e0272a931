"""Keeps the counts of `limits.allowances` in Redis, so that all processes share these counts."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog
from redis.exceptions import RedisError

from chatkey_server.identity.errors import RateLimited
from chatkey_server.limits.allowances import Allowances, Charge
from chatkey_server.metrics import LIMITS_TOGETHER
from chatkey_server.redis_client import opened

PATIENCE_SECONDS: Final = 0.5
"""Timeout for one request to Redis. After that, Redis counts as away."""
AGAIN_SECONDS: Final = 1.0
"""How long after a failure Redis is asked again."""
SHARE_SECONDS: Final = 0.1
"""How long charges are collected before they are shared, so that a message does not wait for this work."""
CONNECTIONS: Final = 16
AWAY: Final = (RedisError, OSError, TimeoutError)

# A key holds the time at which its allowance is full again, and expires then. It changes only if the allowance is large
# enough. One key a script, because in a Redis Cluster two keys may be on two nodes.
TAKE: Final = """
local now, cost, whole = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local whole_at = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now) + cost
local text = string.format('%.6f', whole_at)
if whole_at - now <= whole then
  redis.call('SET', KEYS[1], text, 'PX', math.ceil((whole_at - now) * 1000) + 1000)
end
return text
"""
UNLIMITED: Final = 1e18

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
        self._is_stale = False
        self._turns = asyncio.Semaphore(CONNECTIONS)
        self._resets = 0
        self._unshared: list[Charge] = []
        self._unshared_at = 0.0
        self._sharing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold a client while the context lasts. Connections are opened when needed."""
        async with opened(self._url, connect_within=PATIENCE_SECONDS) as self._redis:
            LIMITS_TOGETHER.set(1)
            yield
            with suppress(*AWAY):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self.shared()

    async def take(self, charge: Charge, now: float) -> bool:
        """Take a charge, and return whether Redis has counted it. Raises `RateLimited`."""
        price = charge.allowances.price(charge.amount)
        wholes = await self._ask(now, {self._key(charge.allowances, charge.name): price})
        if wholes is None:
            return False
        if (wait := wholes[0] - now - price[1]) > 0:
            raise RateLimited(math.ceil(round(wait, 6)), charge.whose)
        return True

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

    def renew(self) -> None:
        """Open new connections from now on, because the old ones may lead to a server that others no longer use."""
        self._is_stale = True

    async def _share(self) -> None:
        while self._unshared:
            await asyncio.sleep(SHARE_SECONDS)
            charges, self._unshared = self._unshared, []
            await self._add_up(charges, self._unshared_at)

    async def _add_up(self, charges: Sequence[Charge], now: float) -> None:
        costs: dict[tuple[Allowances, str], float] = {}
        for allowances, name, amount, _ in charges:
            costs[allowances, name] = costs.get((allowances, name), 0.0) + allowances.price(amount)[0]
        resets = self._resets
        wholes = await self._ask(now, {self._key(*counted): (cost, UNLIMITED) for counted, cost in costs.items()})
        if wholes is not None and resets == self._resets:
            for (allowances, name), whole_at in zip(costs, wholes, strict=True):
                allowances.catch_up(name, whole_at)

    async def _ask(self, now: float, prices: Mapping[str, tuple[float, float]]) -> list[float] | None:
        """Return when each key's allowance would be full again, or None if Redis does not answer."""
        if not prices or asyncio.get_running_loop().time() < self._again_at:
            return None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._turns:
                if self._is_stale:
                    self._is_stale = False
                    await self._redis.connection_pool.disconnect(inuse_connections=False)
                async with self._redis.pipeline(transaction=False) as asking:
                    for key, price in prices.items():
                        asking.eval(TAKE, 1, key, str(now), *map(str, price))
                    wholes = await asking.execute()
        except AWAY as error:
            self._lost(error)
            return None
        self._back()
        return [float(whole) for whole in wholes]

    def _key(self, allowances: Allowances, name: str) -> str:
        return self._name_of(f"limit:{self._resets}:{allowances.kind}:{name}")

    def _lost(self, error: Exception) -> None:
        self._again_at = asyncio.get_running_loop().time() + AGAIN_SECONDS
        self._is_stale = True
        LIMITS_TOGETHER.set(0)
        if not self._is_away:
            self._is_away = True
            log.warning(
                "limits.alone",
                reason=type(error).__name__,
                remedy="until Redis is back, each process allows its share of sign-ins, and counts the rest separately",
            )

    def _back(self) -> None:
        if self._is_away:
            self._is_away = False
            LIMITS_TOGETHER.set(1)
            log.warning("limits.together")
