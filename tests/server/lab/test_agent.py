"""Tests of the lab's agent, with which a test can write in a conversation without the panel."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from chatkey_server.chat.events import AGENTS
from chatkey_server.chat.lines import Line, Said
from chatkey_server.identity.tokens import Profile, SocketIdentity
from chatkey_server.lab.agent_pages import MOST_PAGES
from chatkey_server.storage.tables import AgentSession, Call
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

SDP = f"v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=fingerprint:sha-256 {':'.join(['B2'] * 32)}\r\n"
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


async def test_a_page_accepts_a_call_and_exchanges_signals_with_the_caller(begun: ServerClient) -> None:
    heard: list[Said] = []
    call_id = (await begun.services.chat.call(ADA, name=None, source="a socket")).event["call_id"]
    line = Line(begun.services.hub, call_id, "caller", "a socket", heard.append)

    accepted = await do(begun, "accept", page="one")
    line.say(Said("ask", nonce="s-1"))
    offered = await do(begun, "offer", page="one", sdp=SDP, nonce="the-agents-nonce-1")
    await do(begun, "candidate", page="one", candidate="candidate:1")

    ask = {"type": "signal", "call_id": call_id, "action": "ask", "id": "s-1"}
    assert [answer.json()["data"]["signals"] for answer in (accepted, offered)] == [[], [ask]]
    assert [(said.action, said.nonce) for said in heard] == [("offer", "the-agents-nonce-1"), ("candidate", "")]


async def test_what_a_page_may_not_do_in_a_call_is_answered_with_the_code(begun: ServerClient) -> None:
    async def refusal(what: str, page: str, **more: str) -> Any:
        return (await do(begun, what, page=page, **more)).json()["data"]["refused"]

    early = await refusal("accept", "one")
    await begun.services.chat.call(ADA, name=None, source="a socket")
    first, second = await refusal("accept", "one"), await refusal("accept", "two")
    of_nobody = await refusal("candidate", "two", candidate="candidate:1")
    no_sound = await refusal("offer", "one", sdp="v=0", nonce="the-agents-nonce-1")

    assert (early, first, second, of_nobody) == ("call_unknown", None, "call_taken", "call_unknown")
    assert no_sound == "parameter_invalid"


async def test_a_page_whose_call_has_ended_can_accept_the_next_one(begun: ServerClient) -> None:
    refusals = []
    for _ in range(2):
        await begun.services.chat.call(ADA, name=None, source="a socket")
        refusals.append((await do(begun, "accept", page="one")).json()["data"]["refused"])
        await do(begun, "end")

    assert refusals == [None, None]


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
