"""The actions of people and agents in a conversation, which are the same in every identity mode."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog

from chatkey_protocol.codes import Code
from chatkey_protocol.frames import CallEvent, Entry
from chatkey_server import metrics
from chatkey_server.chat import calls, conversations, search
from chatkey_server.chat.callers import Callers
from chatkey_server.chat.calls import Caller, Changed
from chatkey_server.chat.conversations import Appended, Draft, Locked
from chatkey_server.chat.events import AGENTS, agents_channel, call_told, customer_channel, encoded, message_told
from chatkey_server.chat.posting import Posting, own_conversation
from chatkey_server.identity.display import one_line
from chatkey_server.identity.errors import Refused
from chatkey_server.storage import agent_sessions
from chatkey_server.storage.engine import snapshot, transaction

if TYPE_CHECKING:
    from chatkey_server.chat.hub import Hub
    from chatkey_server.clock import Now
    from chatkey_server.identity.tokens import SocketIdentity
    from chatkey_server.limits.rates import Rates
    from chatkey_server.settings import Limits
    from chatkey_server.storage.agent_sessions import SignedIn

SYSTEM: Final = ""
"""The source of an event that no socket caused."""

SEARCH_SECONDS: Final = 3.0
"""Timeout for one search."""

log = structlog.get_logger("chatkey.chat")


class Chat:
    """Stores each change first, then publishes the change to everyone else.

    `source` is the socket that acts and receives the answer directly. `address` is the client whose limits apply.
    """

    def __init__(self, hub: Hub, limits: Limits, rates: Rates, *, now: Now) -> None:
        self._hub = hub
        self._limits = limits
        self._rates = rates
        self._now = now
        self._posting = Posting()
        self.callers = Callers(hub)

    async def post(
        self, identity: SocketIdentity, message_id: str, body: str, *, name: str | None, source: str, address: str = ""
    ) -> Entry:
        """Store a person's message, and return the message with its number.

        A known `message_id` is not stored again.
        """
        self._check_body(body)
        shown = self._shown_name(name)
        draft = Draft(message_id, "customer", shown or identity.profile.name, body)
        with self._counted(identity, address, len(body.encode())):
            conversation, appended = await self._posting.post(identity, shown, draft, self._now())
            self._tell_message(conversation, appended, source)
        return appended.entry

    async def answer(self, conversation: UUID, message_id: str, body: str, *, agent: SignedIn) -> Entry:
        """Store an agent's message, and return the message with its number.

        A known `message_id` is not stored again.
        """
        self._check_body(body)
        async with transaction():
            held = await self._agents(agent, conversation)
            draft = Draft(message_id, "agent", agent.name, body)
            appended = await conversations.append(held, draft, self._now())
        self._tell_message(held, appended, SYSTEM)
        return appended.entry

    async def history(
        self, identity: SocketIdentity, before: int | None, limit: int, *, address: str = ""
    ) -> tuple[list[Entry], bool]:
        """Return the person's newest messages, oldest first, and whether older messages exist.

        If `before` is set, only messages with lower numbers are returned.
        """
        self._rates.histories.check(_party(identity), address)
        async with snapshot():
            own = await conversations.begun(identity)
            return await conversations.page(own, before, limit) if own is not None else ([], False)

    async def search(self, identity: SocketIdentity, query: str, *, address: str = "") -> list[Entry]:
        """Return the person's newest messages that contain the text."""
        if not query.strip():
            raise Refused(Code.PARAMETER_INVALID, "The search text is empty.", member="query")
        self._check_text(query, "query", self._limits.search_chars)
        self._rates.searches.check(_party(identity), address)
        async with self._rates.search_turns.turn():
            try:
                async with asyncio.timeout(SEARCH_SECONDS), snapshot():
                    own = await conversations.begun(identity)
                    return await search.find(own.id, own.last_seq, query) if own is not None else []
            except TimeoutError:
                raise Refused(
                    Code.UNAVAILABLE, f"The search took longer than {SEARCH_SECONDS:.0f} s.", member="query"
                ) from None

    async def call(
        self, identity: SocketIdentity, *, name: str | None, source: str, started_by: str = "", address: str = ""
    ) -> Changed:
        """Start a call, or return the state of the call in progress."""
        shown = self._shown_name(name)
        with self._counted(identity, address, 0):
            async with transaction():
                conversation = await own_conversation(identity, shown, self._now())
                changed = await calls.ring(conversation.id, self._now(), Caller(started_by, identity.jkt))
                if changed.fresh:
                    await conversations.note_call(conversation.id, self._now())
        self.callers.began(_channel(conversation), changed.event["call_id"])
        self._tell_call(conversation, changed.event, source)
        return changed

    async def join(self, identity: SocketIdentity, started_by: str) -> CallEvent:
        """Let the caller's tab continue its active call on a new socket. Raises `Refused` for any other tab."""
        async with transaction():
            conversation = await conversations.lock_begun(identity)
            if conversation is None:
                raise calls.unknown()
            event = await calls.join(conversation.id, self._now(), Caller(started_by, identity.jkt))
        self.callers.began(_channel(conversation), event["call_id"])
        return event

    async def hang_up(
        self,
        identity: SocketIdentity,
        *,
        source: str,
        call_id: str | None = None,
        code: str | None = None,
        only: str | None = None,
    ) -> CallEvent:
        """End the person's call, or only the call `call_id`, or only a call in the state `only`.

        `code` says why the call ends, if nobody hung up. Raises `Refused(call_unknown)`.
        """
        async with transaction():
            conversation = await conversations.lock_begun(identity)
            if conversation is None:
                raise calls.unknown()
            changed = await calls.end(conversation.id, self._now(), call_id=call_id, code=code, only=only)
        self._tell_call(conversation, changed.event, source)
        return changed.event

    async def take_call(
        self, conversation: UUID, *, agent: SignedIn, accepted_by: str = "", again: bool = False
    ) -> CallEvent:
        """Accept a conversation's call as an agent. With `again`, join a call that `accepted_by` has accepted before.

        Raises `Refused`.
        """
        async with transaction():
            held = await self._agents(agent, conversation)
            changed = await calls.accept(held.id, self._now(), accepted_by, again=again)
            if changed.fresh:
                await conversations.note_agent(held.id, agent.name)
        self._tell_call(held, changed.event, SYSTEM)
        return changed.event

    async def end_call(
        self, conversation: UUID, *, agent: SignedIn, call_id: str | None = None, code: str | None = None
    ) -> CallEvent:
        """End a conversation's call as an agent. Raises `Refused(call_unknown)`."""
        async with transaction():
            held = await self._agents(agent, conversation)
            changed = await calls.end(held.id, self._now(), call_id=call_id, code=code)
            await conversations.note_agent(held.id, agent.name)
        self._tell_call(held, changed.event, SYSTEM)
        return changed.event

    async def revoke_call(self, identity: SocketIdentity, call_id: str, code: str) -> None:
        """End the call of a socket whose identity is no longer valid. `code` is the code of the socket's refusal."""
        try:
            await self.hang_up(identity, source=SYSTEM, call_id=call_id, code=code)
        except Refused as refused:
            log.info("call.revoked_not", code=refused.code, provider=identity.pid)

    async def drop_call(self, conversation: UUID, call_id: str, code: str | None) -> None:
        """End a call that nobody ended, unless it has ended meanwhile."""
        try:
            async with transaction():
                held = await conversations.lock(conversation)
                changed = await calls.end(held.id, self._now(), call_id=call_id, code=code)
        except Refused as refused:
            log.info("call.dropped_not", code=refused.code)
        else:
            self._tell_call(held, changed.event, SYSTEM)

    async def gone(self, identity: SocketIdentity) -> None:
        """End the call that still rings, because the person's last socket in this process has closed.

        An active call goes on for a while, so that the person can join it again.
        """
        call_id = self.callers.take(_party(identity))
        if call_id is None:
            return
        try:
            await self.hang_up(identity, source=SYSTEM, call_id=call_id, only="ringing")
        except Refused as refused:
            # The call may just have ended, or ended in another process. If the database is away, it keeps ringing.
            log.info("call.left", code=refused.code, provider=identity.pid)

    def _counted(self, identity: SocketIdentity, address: str, size: int) -> AbstractContextManager[None]:
        """Count a message of `size` bytes while it is stored, if the quotas allow the message."""
        return self._rates.quotas.stored(
            party=_party(identity), address=address, provider=identity.pid, login=identity.login, size=size
        )

    async def _agents(self, agent: SignedIn, conversation: UUID) -> Locked:
        """Lock a conversation. Raises `Refused` if the agent is not signed in or may not see the conversation."""
        await agent_sessions.confirm(agent, self._now())
        held = await conversations.lock(conversation)
        if not agent.answers_for(held.provider):
            raise conversations.unknown()
        return held

    def _tell_message(self, conversation: Locked, appended: Appended, source: str) -> None:
        """Publish a message.

        Publish a repeated message too, because the process that stored it may have died before publishing.
        """
        entry, last_at = appended
        told = {"type": "message", "conversation": str(conversation.id), "message": entry, "last_at": last_at}
        self._tell(conversation, message_told(entry, source), encoded(told))

    def _tell_call(self, conversation: Locked, event: CallEvent, source: str) -> None:
        if event["state"] == "ended":
            metrics.call_ended(event.get("code"))
        told = {**event, "conversation": str(conversation.id)}
        self._tell(conversation, call_told(event, source), encoded(told, call=event))

    def _tell(self, conversation: Locked, for_person: bytes, for_agents: bytes) -> None:
        """Publish an event to the person, to the agents of all businesses, and to the agents of this business."""
        agents = (AGENTS, agents_channel(conversation.provider))
        self._hub.publish_all([(_channel(conversation), for_person), *((channel, for_agents) for channel in agents)])

    def _shown_name(self, header: str | None) -> str | None:
        """Return the name from the widget's `headers` as one line of text. Raises `Refused` above the limit."""
        shown = one_line(header)
        if shown is not None:
            self._check_text(shown, "headers.name", self._limits.name_chars)
        return shown

    def _check_body(self, body: str) -> None:
        if not body.strip():
            raise Refused(Code.PARAMETER_INVALID, "The message is empty.", member="body")
        self._check_text(body, "body", self._limits.message_chars)

    def _check_text(self, text: str, member: str, most: int) -> None:
        if len(text) > most:
            raise Refused(Code.TOO_LARGE, f"The text has {len(text)} characters; the limit is {most}.", member=member)
        if "\0" in text:
            raise Refused(Code.PARAMETER_INVALID, "The text contains a NUL character.", member=member)


def _party(identity: SocketIdentity) -> str:
    return customer_channel(identity.pid, identity.login, identity.uid)


def _channel(conversation: Locked) -> str:
    return customer_channel(conversation.provider, conversation.login, conversation.uid)
