"""Serves the agent panel's socket: lists, threads, answers, calls, and new events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import structlog

from chatkey_protocol.codes import Code
from chatkey_server import metrics
from chatkey_server.chat import desk
from chatkey_server.chat.events import AGENTS, ALL_PAGES, agents_channel, read_event
from chatkey_server.identity.errors import Refused
from chatkey_server.panel import panel_frames, sessions
from chatkey_server.panel.answering import Answering
from chatkey_server.peers.frame_rate import FrameRate
from chatkey_server.peers.peer import Peer
from chatkey_server.peers.wire import Wire
from chatkey_server.peers.writer import encode, error
from chatkey_server.storage import agent_sessions
from chatkey_server.storage.engine import snapshot

if TYPE_CHECKING:
    from litestar import WebSocket

    from chatkey_server.panel.watch import Watch
    from chatkey_server.services import Services
    from chatkey_server.storage.agent_sessions import SignedIn

log: structlog.typing.FilteringBoundLogger = structlog.get_logger("chatkey.panel")


class AgentSocket(Peer):
    """Serves one page of the panel until the page closes its socket, or until the agent's session ends or changes."""

    KIND = "agent"
    FAILED = "panel.failed"
    REFUSED = "panel.refused"
    AGAIN = "reload the page"
    agent: SignedIn

    def __init__(self, socket: WebSocket[Any, Any, Any], services: Services, watch: Watch) -> None:
        super().__init__(Wire(socket.scope, socket.receive, socket.send), services.sockets, log)
        self._socket = socket
        self._services = services
        self._chat = services.chat
        self._watch = watch
        self._answering = Answering(services, uuid4().hex, lambda frame: self.tell(encode(frame)))
        self._is_signed_out = False

    async def serve(self) -> None:
        """Answer the page's frames and send new events, until the page leaves or a frame is refused."""
        self._rate = FrameRate(self._services.settings.limits, self._services.clock())
        self._address = self._services.rates.client_of(self._socket.scope)
        self.agent = await self._signed_in()
        async with self._watch.over(self):
            with self._listening():
                settings = self._services.settings
                ready = {"type": "ready", "agent": self.agent.name, "ice_servers": settings.ice_servers}
                await self.send({**ready, "relay_only": True} if settings.ice_relay_only else ready)
                while (text := await self.text()) is not None:
                    await self._answer(text)

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            self._answering.left(signed_out=self._is_signed_out)
            del self._answering  # otherwise it and this socket would be a reference cycle

    async def refuse(self, refused: Refused) -> None:
        """Send the reason and close. The call of an agent who was signed out ends at once."""
        self._is_signed_out = self._is_signed_out or refused.code is Code.SIGN_IN_REQUIRED
        await super().refuse(refused)

    def deliver(self, payload: bytes) -> None:
        """Send the page an event of one of the agent's businesses."""
        event = read_event(payload)
        self.tell(bytes(event.frame))
        if event.call is not None and event.call[1] == "ended":
            self._answering.ended(event.call[0])

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Listen to the channels of the agent's businesses, and to the channel of all pages."""
        with ExitStack() as listening:
            for channel in (ALL_PAGES, *self._channels()):
                listening.enter_context(self._services.hub.listen(channel, self.deliver))
            yield

    def _channels(self) -> list[str]:
        providers = self.agent.providers
        return [AGENTS] if providers is None else [agents_channel(provider) for provider in providers]

    async def _signed_in(self) -> SignedIn:
        sessions.check_origin(self._socket, self._services.settings)
        agent = await sessions.signed_in(self._socket, self._services)
        if agent is None:
            raise Refused(Code.SIGN_IN_REQUIRED, "You are not signed in; reload the page and sign in.")
        return agent

    async def _answer(self, text: str) -> None:
        self._rate.count(self._services.clock())
        frame = panel_frames.READER.read(text, max_bytes=self._services.settings.limits.frame_bytes)
        try:
            answer = await self._do(frame)
        except Refused as refused:
            if refused.code is Code.SIGN_IN_REQUIRED:
                raise
            metrics.refused(refused.code)
            answer = error(refused, panel_frames.id_of(frame))
        if answer is not None:
            await self.send(answer)

    async def _do(self, frame: panel_frames.PanelFrame) -> Mapping[str, object] | None:
        if frame["type"] == "ping":
            return {"type": "pong"}
        if frame["type"] == "answer":
            entry = await self._chat.answer(frame["conversation"], frame["id"], frame["body"], agent=self.agent)
            return {"type": "ack", "id": frame["id"], "seq": entry["seq"], "sent_at": entry["sent_at"]}
        if frame["type"] == "call":
            return await self._answering.call(frame, self.agent)
        if frame["type"] == "signal":
            self._answering.signal(frame)
            return None
        async with self._reading(frame), snapshot():
            await agent_sessions.confirm(self.agent, self._services.clock())
            return await self._read(frame)

    @asynccontextmanager
    async def _reading(self, frame: panel_frames.AskList | panel_frames.AskThread) -> AsyncIterator[None]:
        """Apply the same limits as for customers. A list with a query counts as a search and waits for a turn."""
        rates = self._services.rates
        if frame["type"] == "thread" or not frame.get("filter", desk.EVERYTHING).query:
            rates.histories.check(self._party, self._address)
            yield
            return
        rates.searches.check(self._party, self._address)
        async with rates.search_turns.turn():
            yield

    @property
    def _party(self) -> str:
        return f"agent {self.agent.name}"

    async def _read(self, frame: panel_frames.AskList | panel_frames.AskThread) -> Mapping[str, object]:
        if frame["type"] == "list":
            listed = await desk.overview(self.agent, frame.get("filter", desk.EVERYTHING), frame.get("before"))
            providers = await desk.providers(self.agent)
            return {"type": "conversations", "id": frame.get("id"), **listed, "providers": providers}
        before = frame.get("before")
        thread = await desk.thread(self.agent, frame["conversation"], before)
        return {"type": "thread", "conversation": frame["conversation"], "before": before, **thread}
