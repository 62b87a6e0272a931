"""Closes the sockets of agents whose session has ended, in this or in another process (D-21)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from chatkey_protocol.codes import Code
from chatkey_server.chat.events import AGENT_SESSIONS
from chatkey_server.identity.errors import Refused
from chatkey_server.storage import agent_sessions

if TYPE_CHECKING:
    from chatkey_server.services import Services
    from chatkey_server.storage.agent_sessions import SignedIn

CHECK_SECONDS: Final = 1.0
"""How long a socket may stay open after its session ended, if no hub reports the end."""

log = structlog.get_logger("chatkey.panel")


class Watched(Protocol):
    agent: SignedIn

    def end(self, refused: Refused) -> None:
        """Send the reason and close the socket, without waiting."""


class Watch:
    """Asks the database which sessions are valid, for all sockets: every second and after news from the hub."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._sockets: set[Watched] = set()
        self._told = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def over(self, socket: Watched) -> AsyncIterator[None]:
        """While the context lasts, close this socket if its session ends."""
        self._sockets.add(socket)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            self._sockets.discard(socket)
            if not self._sockets:
                await self._rest()

    async def _watch(self) -> None:
        with self._services.hub.listen(AGENT_SESSIONS, lambda _: self._told.set()):
            while self._watching is asyncio.current_task():
                with suppress(TimeoutError):
                    async with asyncio.timeout(CHECK_SECONDS):
                        await self._told.wait()
                self._told.clear()
                await self._check()

    async def _rest(self) -> None:
        """Stop watching, after a running check has finished."""
        watching, self._watching = self._watching, None
        self._told.set()
        if watching is not None:
            await watching

    async def _check(self) -> None:
        """Close the sockets whose session has ended or changed. If the sessions cannot be read, close all sockets."""
        watched = tuple(self._sockets)
        if not watched:
            return
        try:
            standing = await agent_sessions.standing({socket.agent.session for socket in watched}, self._now())
        except Refused as refused:
            self._end(watched, refused)
        except Exception:
            log.exception("panel.unwatched")
            self._end(watched, Refused(Code.INTERNAL, "The server had an internal error; reload the page."))
        else:
            gone = [socket for socket in watched if standing.get(socket.agent.session) != socket.agent]
            self._end(gone, agent_sessions.over())

    def _now(self) -> float:
        return self._services.clock()

    def _end(self, sockets: Iterable[Watched], refused: Refused) -> None:
        for socket in sockets:
            socket.end(refused)
