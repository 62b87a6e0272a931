"""What agents see: every conversation with its person and last word, and the messages of one (contract 2.7)."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from chatkey_server.chat import desk
from chatkey_server.storage import members

NOW = 1_800_000_000

Fixture = Any


async def post(chat: Fixture, person: Fixture, message_id: str, body: str) -> None:
    await chat.post(person, message_id, body, name=None, source="")


@pytest.mark.contract("2.7/agent-panel")
async def test_each_conversation_shows_who_it_is_and_how_they_logged_in(
    chat: Fixture, ann: Fixture, make_person: Fixture, time: Fixture
) -> None:
    await members.upsert(
        provider="prov",
        login="social",
        uid="github:7",
        auth_provider="github",
        name="Goo",
        email="goo@hub.test",
        avatar=None,
        now=NOW,
    )
    people = [make_person("v_1", login="visitor"), ann, make_person("github:7", login="social", pid="prov")]
    for person in people:
        time.now += 1
        await post(chat, person, "m1", f"hello from {person.uid}")
    await chat.call(ann, name=None, source="")

    listed = await desk.overview()

    assert [(item["login"], item["uid"], item["name"], item["email"], item["auth_provider"]) for item in listed] == [
        ("social", "github:7", "Goo", "goo@hub.test", "github"),
        ("custom", "ann", "Ann", "ann@shop.test", None),
        ("visitor", "v_1", None, None, None),
    ]
    last = [item["last"] and item["last"]["body"] for item in listed]
    assert last == ["hello from github:7", "hello from ann", "hello from v_1"]
    assert [item["call"] and item["call"]["state"] for item in listed] == [None, "ringing", None]


async def test_the_list_can_be_kept_to_one_provider(chat: Fixture, ann: Fixture, make_person: Fixture) -> None:
    await post(chat, ann, "m1", "one")
    await post(chat, make_person("bob", pid="other"), "m1", "two")

    assert [item["uid"] for item in await desk.overview("other")] == ["bob"]
    assert await desk.overview("nobody") == []


async def test_a_thread_is_read_page_by_page(chat: Fixture, ann: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatkey_server.chat.entries.ENTRIES", 2)
    for n in range(1, 4):
        await post(chat, ann, f"m{n}", str(n))
    conversation = UUID((await desk.overview())[0]["id"])

    newest = await desk.thread(conversation)
    oldest = await desk.thread(conversation, before=2)

    assert ([entry["body"] for entry in newest["messages"]], newest["more"]) == (["2", "3"], True)
    assert ([entry["body"] for entry in oldest["messages"]], oldest["more"]) == (["1"], False)


async def test_a_conversation_that_is_not_there_is_an_empty_thread(chat: Fixture) -> None:
    assert await desk.thread(uuid4()) == {"messages": [], "more": False}
