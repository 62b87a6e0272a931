"""Acts as an agent for tests: reads a conversation, answers in it and ends its call without the panel."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal
from uuid import UUID, uuid4

import msgspec
from litestar import post
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody

from chatkey_protocol.frames import Entry
from chatkey_server.chat import conversations, desk
from chatkey_server.lab.envelope import Data
from chatkey_server.services import Services
from chatkey_server.storage import agent_sessions
from chatkey_server.storage.agent_sessions import SignedIn
from chatkey_server.storage.engine import snapshot
from chatkey_server.storage.tables import Conversation


class Deed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An action of the lab's agent in the conversation of person `uid` with business `id`."""

    do: Literal["read", "answer", "end"]
    id: Annotated[str, msgspec.Meta(pattern=desk.NO_NUL)]
    uid: Annotated[str, msgspec.Meta(pattern=desk.NO_NUL)]
    body: str = ""


class Seen(msgspec.Struct, frozen=True):
    """The newest messages of the conversation after the action, in order."""

    messages: list[Entry]


def handlers(services: Services) -> list[HTTPRouteHandler]:
    """Return the handler of /lab/agent."""

    @post("/agent", status_code=200)
    async def agent(data: JSONBody[Deed]) -> Data[Seen]:
        conversation = await _conversation(data)
        async with _signed_in(services) as somebody:
            if data.do == "answer":
                await services.chat.answer(conversation, str(uuid4()), data.body, agent=somebody)
            elif data.do == "end":
                await services.chat.end_call(conversation, agent=somebody)
            seen = await desk.thread(somebody, conversation)
        return Data(Seen(seen["messages"]))

    return [agent]


async def _conversation(deed: Deed) -> UUID:
    """Return the newest conversation of this person. Raises `Refused(not_found)`."""
    async with snapshot():
        query = Conversation.select(Conversation.id).where(
            Conversation.provider == deed.id, Conversation.uid == deed.uid
        )
        found = await query.order_by(Conversation.last_at, ascending=False).first()
    if found is None:
        raise conversations.unknown()
    conversation: UUID = found["id"]
    return conversation


@asynccontextmanager
async def _signed_in(services: Services) -> AsyncIterator[SignedIn]:
    """Sign in the lab's agent for one action."""
    now = services.clock()
    token = await agent_sessions.begin_for_lab(now)
    try:
        somebody = await agent_sessions.of_token(token, now)
        if somebody is None:
            raise agent_sessions.over()
        yield somebody
    finally:
        await agent_sessions.end(token)
