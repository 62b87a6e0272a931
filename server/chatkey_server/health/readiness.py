"""Reports whether this process can take traffic, and the state of each part that the process needs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

import structlog

from chatkey_server.identity.errors import Refused
from chatkey_server.storage import engine, migrate

if TYPE_CHECKING:
    from chatkey_server.services import Services

State = Literal["ok", "away", "read-only", "standby", "missing", "unknown", "leaving"]

FRESH_SECONDS: Final = 1.0
"""How long a result is reused. However often it is requested, readiness costs at most one query per second."""
PATIENCE_SECONDS: Final = 2.0

NAMES: Final = ("process", "database", "migrations", "redis")

log = structlog.get_logger("chatkey.health")


class Readiness:
    """Checks the parts that this process needs. Simultaneous requests share one database query."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._stored: Mapping[str, State] = {}
        self._fresh_until = 0.0
        self._asking = asyncio.Lock()

    async def states(self) -> dict[str, State]:
        """Return the state of each part.

        The process is ready if all are `ok`. Redis is left out if it is not configured.
        """
        hub = self._services.hub
        redis: dict[str, State] = {} if hub.is_alone else {"redis": "ok" if hub.is_connected else "away"}
        return {"process": self._process(), **await self._of_the_database(), **redis}

    def _process(self) -> State:
        return "leaving" if self._services.sockets.is_leaving else "ok"

    async def _of_the_database(self) -> Mapping[str, State]:
        async with self._asking:
            now = asyncio.get_running_loop().time()
            if now >= self._fresh_until:
                self._stored = await _look()
                self._fresh_until = asyncio.get_running_loop().time() + FRESH_SECONDS
        return self._stored


async def _look() -> dict[str, State]:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            pending = await migrate.pending()
            database = await engine.writability()
    except (Refused, TimeoutError):
        return {"database": "away", "migrations": "unknown"}
    except Exception:
        log.exception("health.failed")
        return {"database": "away", "migrations": "unknown"}
    return {"database": database, "migrations": "missing" if pending else "ok"}
