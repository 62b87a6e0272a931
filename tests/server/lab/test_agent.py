"""Tests of the lab's agent, with which a test can write in a conversation without the panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chatkey_server.identity.tokens import Profile, SocketIdentity
from chatkey_server.storage.tables import AgentSession

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


async def test_an_agent_ends_the_current_call(begun: ServerClient) -> None:
    await begun.services.chat.call(ADA, name=None, source="a socket")

    ended, again = await do(begun, "end"), await do(begun, "end")

    assert ended.status_code == 200
    assert (again.status_code, again.json()["error"]["code"]) == (404, "call_unknown")


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"uid": "eve"}, 404, "not_found"),
        ({"id": "other"}, 404, "not_found"),
        ({"do": "shout"}, 400, "parameter_invalid"),
        ({"do": "answer"}, 400, "parameter_invalid"),
    ],
    ids=["nobody", "another-business", "no-such-deed", "an-empty-answer"],
)
async def test_an_impossible_action_is_refused_with_the_reason(
    begun: ServerClient, given: dict[str, str], status: int, code: str
) -> None:
    answer = await begun.post("/lab/agent", json={"do": "read", "id": "mine", "uid": "ada", **given})

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
