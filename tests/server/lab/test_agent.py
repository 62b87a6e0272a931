"""Tests of the lab's agent, with which a test can write in a conversation without the panel."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from chatkey_server.chat.events import AGENTS
from chatkey_server.identity.tokens import Profile, SocketIdentity
from chatkey_server.lab.agent_pages import MOST_PAGES
from chatkey_server.storage.tables import AgentSession, Call
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

ADA = SocketIdentity("mine", "ada", "custom", "jkt", 2_000_000_000, Profile(name="Ada"))


@pytest.fixture
async def begun(lab: ServerClient) -> ServerClient:
    """A lab with one conversation, in which Ada has written a message."""
    await lab.post("/lab/providers", json={"id": "mine"})
    await lab.services.chat.post(ADA, "m-1", "Good morning", name=None, source="a socket")
    return lab


async def do(lab: ServerClient, what: str, **more: str) -> Any:
    """Let the lab's agent act in Ada's conversation."""
    return await lab.post("/lab/agent", json={"do": what, "id": "mine", "uid": "ada", **more})


def said(answer: Any) -> list[tuple[str, str]]:
    return [(message["sender"], message["body"]) for message in answer.json()["data"]["messages"]]


async def test_an_agent_reads_and_answers_and_no_session_remains(begun: ServerClient) -> None:
    before = said(await do(begun, "read"))

    after = said(await do(begun, "answer", body="Good morning, Ada!"))

    assert before == [("customer", "Good morning")]
    assert after == [*before, ("agent", "Good morning, Ada!")]
    assert not await AgentSession.exists()


async def test_the_oldest_of_too_many_pages_is_closed_and_its_call_ends(begun: ServerClient) -> None:
    await begun.services.chat.call(ADA, name=None, source="a socket")
    await do(begun, "accept", page="the oldest")

    ended = asyncio.Event()
    begun.services.hub.add(AGENTS, lambda _: ended.set())
    for number in range(MOST_PAGES):
        await do(begun, "read", page=f"page {number}")
    async with asyncio.timeout(PATIENCE):
        await ended.wait()

    assert [row["state"] for row in await Call.select(Call.state)] == ["ended"]


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"uid": "eve"}, 404, "not_found"),
        ({"id": "other"}, 404, "not_found"),
        ({"do": "shout"}, 400, "parameter_invalid"),
        ({"do": "answer"}, 400, "parameter_invalid"),
        ({"do": "accept"}, 400, "parameter_missing"),
    ],
    ids=["nobody", "another-business", "no-such-deed", "an-empty-answer", "no-page"],
)
async def test_an_impossible_action_is_refused_with_the_reason(
    begun: ServerClient, given: dict[str, str], status: int, code: str
) -> None:
    answer = await begun.post("/lab/agent", json={"do": "read", "id": "mine", "uid": "ada", **given})

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
