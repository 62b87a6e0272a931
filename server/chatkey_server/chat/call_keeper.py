"""Ends calls that nobody answers, and calls whose caller is gone, even if the process of the caller has died."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from uuid import UUID

import structlog

from chatkey_server.chat import calls
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.engine import snapshot, transaction

if TYPE_CHECKING:
    from chatkey_server.chat.service import Chat
    from chatkey_server.clock import Clock

log = structlog.get_logger("chatkey.chat")


class CallKeeper:
    """Knows the calls whose caller has a socket in this process, and records every few seconds that they go on."""

    def __init__(self, chat: Chat, clock: Clock) -> None:
        self._chat = chat
        self._clock = clock
        self._held: set[UUID] = set()

    def hold(self, call_id: str) -> None:
        self._held.add(UUID(call_id))

    def release(self, call_id: str) -> None:
        self._held.discard(UUID(call_id))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep calls while the context lasts. Before the context ends, stop any query, because the database closes."""
        keeping = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])

    async def _keep(self) -> None:
        while True:
            await self._tick()
            try:
                await self.keep_once()
            except Refused as refused:
                log.info("calls.unkept", code=refused.code)
            except Exception:
                log.exception("calls.unkept")

    async def _tick(self) -> None:
        """Wait until it is time to look at the calls, at most `KEEP_SECONDS` even if the clock is set back."""
        due = asyncio.Event()
        alarm = self._clock.call_at(self._clock() + calls.KEEP_SECONDS, due.set)
        try:
            async with asyncio.timeout(calls.KEEP_SECONDS):
                await due.wait()
        except TimeoutError:
            return
        finally:
            alarm.cancel()

    async def keep_once(self) -> None:
        """Record the callers of this process, and end the calls that are over in any process."""
        now = self._clock()
        if self._held:
            async with transaction():
                await calls.seen(self._held, now)
        async with snapshot():
            overdue = await calls.overdue(now)
        for call in overdue:
            await self._chat.drop_call(call.conversation, str(call.id), call.code)
