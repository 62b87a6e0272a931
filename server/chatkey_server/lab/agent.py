"""Acts as an agent for tests, without the panel: reads and answers a conversation, and takes part in its call."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Literal
from uuid import UUID, uuid4

import msgspec
from litestar import post
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody

from chatkey_protocol.codes import Code
from chatkey_protocol.frames import Entry
from chatkey_server.chat import conversations, desk
from chatkey_server.identity.errors import Refused
from chatkey_server.lab.agent_pages import AgentPage, AgentPages
from chatkey_server.lab.envelope import Data
from chatkey_server.services import Services
from chatkey_server.storage import agent_sessions
from chatkey_server.storage.agent_sessions import SignedIn
from chatkey_server.storage.engine import snapshot
from chatkey_server.storage.tables import Conversation


class Deed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An action of the lab's agent in the conversation of person `uid` with business `id`.

    `page` names the agent's page that accepts a call, or that sends an offer or a candidate.
    """

    do: Literal["read", "answer", "end", "accept", "offer", "candidate"]
    id: Annotated[str, msgspec.Meta(pattern=desk.NO_NUL)]
    uid: Annotated[str, msgspec.Meta(pattern=desk.NO_NUL)]
    body: str = ""
    page: str = ""
    sdp: str = ""
    nonce: str = ""
    candidate: str = ""


class Seen(msgspec.Struct, frozen=True):
    """The newest messages of the conversation after the action, in order, and the signals that the page has received.

    `refused` is the code if the page could not accept the call, or could not send the signal.
    """

    messages: list[Entry]
    signals: list[Mapping[str, object]] = []
    refused: str | None = None


def handlers(services: Services) -> list[HTTPRouteHandler]:
    """Return the handler of /lab/agent."""

    pages = AgentPages(services)

    @post("/agent", status_code=200)
    async def agent(data: JSONBody[Deed]) -> Data[Seen]:
        conversation = await _conversation(data)
        page, refused = (pages.named(data.page) if data.page else None), None
        async with _signed_in(services) as somebody:
            if data.do == "answer":
                await services.chat.answer(conversation, str(uuid4()), data.body, agent=somebody)
            elif data.do == "end":
                await services.chat.end_call(conversation, agent=somebody)
            elif data.do != "read":
                refused = await _refusal(data, page, conversation, somebody)
            seen = await desk.thread(somebody, conversation)
        return Data(Seen(seen["messages"], [*page.signals] if page else [], refused))

    return [agent]


async def _refusal(deed: Deed, page: AgentPage | None, conversation: UUID, agent: SignedIn) -> str | None:
    """Take part in the call with a page. Return the code if this is refused."""
    if page is None:
        raise Refused(Code.PARAMETER_MISSING, "An action in a call needs a page.", member="page")
    try:
        if deed.do == "accept":
            await page.accept(conversation, agent)
        elif deed.do == "offer":
            page.offer(deed.sdp, deed.nonce)
        else:
            page.add_candidate(deed.candidate)
    except Refused as refused:
        return refused.code
    return None


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
