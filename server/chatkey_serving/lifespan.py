"""Starts and stops an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from chatkey_serving.site import LOG

if TYPE_CHECKING:
    from chatkey_serving.site import Message, Site

FAILED: Final = 3
"""The exit status of a program whose application does not start."""


@asynccontextmanager
async def started(site: Site) -> AsyncIterator[None]:
    """Keep the application started during the block. If the application does not start, the program ends."""
    if not site.has_lifespan:
        yield
        return
    lifespan = _Lifespan(site)
    if not await lifespan.ask("startup"):
        LOG.error("The application did not start")
        raise SystemExit(FAILED)
    try:
        yield
    finally:
        if not await lifespan.ask("shutdown"):
            LOG.error("The application did not stop in order")


class _Lifespan:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._questions: asyncio.Queue[Message] = asyncio.Queue()
        self._answers: asyncio.Queue[Message] = asyncio.Queue()
        self._running = asyncio.get_running_loop().create_task(self._run())

    async def ask(self, what: str) -> bool:
        """Ask the application to start or stop. Returns False if the application has failed."""
        await self._questions.put({"type": f"lifespan.{what}"})
        answer = await self._answers.get()
        if message := answer.get("message"):
            LOG.error(message)
        return str(answer["type"]) == f"lifespan.{what}.complete"

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self._site.state}
        try:
            await self._site.app(scope, self._questions.get, self._answers.put)
        except Exception:  # noqa: BLE001 - the log has the traceback, and `ask` reports the failure
            LOG.exception("The application failed")
        await self._answers.put({"type": "lifespan.ended"})  # not an ASGI message: no other answer will follow
