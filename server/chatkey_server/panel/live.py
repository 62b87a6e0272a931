"""The agent panel's socket: lists, threads, answers and calls, and everything new as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import structlog

from chatkey_protocol.codes import Code
from chatkey_server.chat import desk
from chatkey_server.chat.events import AGENTS, read_event
from chatkey_server.identity.errors import Refused
from chatkey_server.panel import frames, sessions
from chatkey_server.socket.frames import encode, error
from chatkey_server.socket.outbox import GONE, Outbox, send
from chatkey_server.socket.session import PATIENCE_SECONDS
from chatkey_server.storage import agent_sessions
from chatkey_server.storage.engine import snapshot

if TYPE_CHECKING:
    from litestar import WebSocket

    from chatkey_server.panel.watch import Watch
    from chatkey_server.services import Services
    from chatkey_server.storage.agent_sessions import SignedIn

log = structlog.get_logger("chatkey.panel")


class AgentSocket:
    """Serves one page of the panel until it goes, or the session it was opened with ends or changes."""

    agent: SignedIn

    def __init__(self, socket: WebSocket[Any, Any, Any], services: Services, watch: Watch) -> None:
        self._socket = socket
        self._services = services
        self._chat = services.chat
        self._watch = watch
        self._outbox = Outbox(socket)
        self._closed = False
        self._closing: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Serve the page until it goes or something is refused."""
        self._services.sockets.add(self)
        try:
            self.agent = await self._signed_in()
            async with self._watch.over(self):
                with self._services.hub.listen(AGENTS, self.deliver):
                    await send(self._socket, encode({"type": "ready", "agent": self.agent.name}))
                    while (text := await self._text()) is not None:
                        await self._answer(text)
        except Refused as refused:
            await self.refuse(refused)
        except GONE:
            pass  # the page has gone: nobody is there to be told
        except Exception:
            log.exception("panel.failed")
            await self.refuse(Refused(Code.INTERNAL, "Something went wrong here; reload the page."))
        finally:
            self._closed = True
            self._outbox.close()
            self._services.sockets.remove(self)

    async def refuse(self, refused: Refused) -> None:
        """Say why, and close with the code that belongs to it."""
        if self._closed:
            return
        self._closed = True
        self._outbox.close()
        with suppress(*GONE, TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await send(self._socket, encode(error(refused)))
                await self._socket.close(refused.meaning.close, refused.code)

    def end(self, refused: Refused) -> None:
        """Refuse, without waiting for it."""
        if not self._closed:
            self._closing = asyncio.create_task(self.refuse(refused))

    def deliver(self, payload: bytes) -> None:
        """Queue what happened in some conversation of the agent's businesses."""
        event = read_event(payload)
        if self._closed or not self.agent.answers_for(event.provider):
            return
        if not self._outbox.put(bytes(event.frame)):
            self.end(Refused(Code.UNAVAILABLE, "This page reads too slowly; reload it."))

    async def _signed_in(self) -> SignedIn:
        sessions.check_origin(self._socket, self._services.settings)
        agent = await sessions.signed_in(self._socket, self._services)
        if agent is None:
            raise Refused(Code.SIGN_IN_REQUIRED, "Nobody is signed in; reload the page and sign in.")
        return agent

    async def _text(self) -> str | None:
        event = await self._socket.receive()
        if event["type"] != "websocket.receive" or self._closed:
            return None
        text = event.get("text")
        if text is None:
            raise Refused(Code.FRAME_INVALID, "Frames are text messages; a binary one came.")
        return text

    async def _answer(self, text: str) -> None:
        frame = frames.READER.read(text, max_bytes=self._services.settings.limits.frame_bytes)
        try:
            answer = await self._do(frame)
        except Refused as refused:
            if refused.code is Code.SIGN_IN_REQUIRED:
                raise
            answer = error(refused, frame.id if isinstance(frame, frames.AskList | frames.Answer) else None)
        if answer is not None and not self._closed:
            await send(self._socket, encode(answer))

    async def _do(self, frame: frames.Frame) -> Mapping[str, object] | None:
        match frame:
            case frames.AskList() | frames.AskThread():
                async with snapshot():
                    await agent_sessions.confirm(self.agent, self._services.clock())
                    return await self._read(frame)
            case frames.Answer(conversation=conversation, id=message_id, body=body):
                entry = await self._chat.answer(conversation, message_id, body, agent=self.agent)
                return {"type": "ack", "id": message_id, "seq": entry["seq"]}
            case frames.HandleCall(conversation=conversation, action="accept"):
                await self._chat.take_call(conversation, agent=self.agent)
            case frames.HandleCall(conversation=conversation):
                await self._chat.end_call(conversation, agent=self.agent)
        return None

    async def _read(self, frame: frames.AskList | frames.AskThread) -> Mapping[str, object]:
        match frame:
            case frames.AskList(id=frame_id, filter=wanted, before=before):
                listed = await desk.overview(self.agent, wanted, before)
                providers = await desk.providers(self.agent)
                return {"type": "conversations", "id": frame_id, **listed, "providers": providers}
            case frames.AskThread(conversation=conversation, before=before):
                thread = await desk.thread(self.agent, conversation, before)
                return {"type": "thread", "conversation": conversation, "before": before, **thread}
