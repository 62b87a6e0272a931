"""Ends calls that nobody answers, and calls whose caller is gone, even if the process of the caller has died."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog

from chatkey_server.chat import calls
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.engine import snapshot, transaction

if TYPE_CHECKING:
    from chatkey_server.chat.service import Chat
    from chatkey_server.clock import Clock

log = structlog.get_logger("chatkey.chat")

LEAVE_SECONDS: Final = 1.0


class CallKeeper:
    """Knows the calls whose caller has a socket in this process, and records every few seconds that they go on."""

    def __init__(self, chat: Chat, clock: Clock) -> None:
        self._chat = chat
        self._clock = clock
        self._held: set[UUID] = set()
        self._is_over = asyncio.Event()

    def hold(self, call_id: str) -> None:
        self._held.add(UUID(call_id))

    def release(self, call_id: str) -> None:
        self._held.discard(UUID(call_id))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep calls while the context lasts. The database is closed next, so no query may be in progress then.

        A query has `LEAVE_SECONDS` to end, because a connection that is cancelled while it opens would stay open.
        """
        self._is_over.clear()
        keeping = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            self._is_over.set()
            await asyncio.wait([keeping], timeout=LEAVE_SECONDS)
            keeping.cancel()
            await asyncio.wait([keeping])

    async def _keep(self) -> None:
        while await self._is_due():
            try:
                await self.keep_once()
            except Refused as refused:
                log.info("calls.unkept", code=refused.code)
            except Exception:
                log.exception("calls.unkept")

    async def _is_due(self) -> bool:
        """Wait until it is time to look at the calls. Returns False once the server stops."""
        due = asyncio.Event()
        alarm = self._clock.call_at(self._clock() + calls.KEEP_SECONDS, due.set)
        waiting = {asyncio.ensure_future(due.wait()), asyncio.ensure_future(self._is_over.wait())}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()
            for each in waiting:
                each.cancel()
        return not self._is_over.is_set()

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
