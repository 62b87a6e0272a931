"""Tests of search. The newest messages and the index must give the same results, on both kinds of database."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkey_server.chat import search
from chatkey_server.storage import text
from chatkey_server.storage.tables import Conversation, Message

Fixture = Any


@pytest.fixture(params=["newest", "index"])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test once with each way to search: in the newest messages, and in the index."""
    if request.param == "index":
        monkeypatch.setattr(search, "NEWEST", 0)
    return str(request.param)


@pytest.fixture
def say(chat: Fixture, ann: Fixture) -> Fixture:
    async def said(*bodies: str, who: Fixture = ann) -> None:
        for n, body in enumerate(bodies):
            await chat.post(who, f"m{n}", body, name=None, source="here")

    return said


@pytest.fixture
def find(chat: Fixture, ann: Fixture) -> Fixture:
    async def found(query: str, who: Fixture = ann) -> list[str]:
        return [entry["body"] for entry in await chat.search(who, query)]

    return found


@pytest.mark.parametrize(
    ("query", "bodies"),
    [
        ("PARCEL", ["The Parcel", "parcels?"]),
        ("strasse", ["Straße"]),
        ("caf\u00e9", ["CAFE\u0301"]),
        ("ed par", ["a sealed parcel of a \N{PACKAGE}"]),
        ("a \N{PACKAGE}", ["a sealed parcel of a \N{PACKAGE}"]),
        ("注文番号", ["注文番号は四二です"]),
        ("番号は四", ["注文番号は四二です"]),
        ("الطلب", ["أين الطلب رقم ٤٢؟"]),
        ("missing", []),
        ("par cel", []),
        ("elc", []),
    ],
)
async def test_any_part_of_a_message_is_found_whatever_its_case(
    query: str, bodies: list[str], say: Fixture, find: Fixture, by: str
) -> None:
    others = ["is LATE", "Straße", "CAFE\u0301", "注文番号は四二です", "أين الطلب رقم ٤٢؟"]
    own = ["The Parcel", "parcels?"] if query == "PARCEL" else ["a sealed p\u00e4rcel"]
    await say(*own, *others, "a sealed parcel of a \N{PACKAGE}" if query != "PARCEL" else "post")

    assert await find(query) == bodies


@pytest.mark.parametrize("query", ["100%", "a_b", '"b" OR "x', "x'; --", "a* NEAR", "\\\\!", "{folded}:"])
async def test_no_character_is_a_wildcard(query: str, say: Fixture, find: Fixture, by: str) -> None:
    await say("axb and 1000", "100X a_X", f"here: {query} and on", "b x OR")

    assert await find(query) == [f"here: {query} and on"]


@pytest.mark.parametrize("query", ["%", "_", "!", '"', "注文", "是"])
async def test_one_or_two_letters_are_found_among_the_newest(query: str, say: Fixture, find: Fixture) -> None:
    await say("nothing", f"with {query} in it")

    assert await find(query) == [f"with {query} in it"]


async def test_only_the_own_conversation_is_searched(
    say: Fixture, find: Fixture, make_person: Fixture, by: str
) -> None:
    await say("secret of ann")
    await say("hello", who=make_person("bob"))

    assert await find("secret") == ["secret of ann"]
    assert await find("secret", who=make_person("bob")) == []
    assert await find("secret", who=make_person("ann", login="visitor")) == []


async def test_conversations_with_the_same_scope_in_the_index_are_told_apart(
    say: Fixture, find: Fixture, make_person: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "NEWEST", 0)
    monkeypatch.setattr(search, "_scope", lambda _: "\U000f0000\U000f0001\U000f0002")
    await say("secret of ann")
    await say("secret of bob", who=make_person("bob"))

    assert await find("secret") == ["secret of ann"]


async def test_the_newest_fifty_are_found(chat: Fixture, ann: Fixture, say: Fixture, by: str) -> None:
    await say(*(f"number {n}" for n in range(52)))

    found = await chat.search(ann, "number")

    assert [entry["seq"] for entry in found] == list(range(3, 53))


async def test_older_messages_are_found_through_the_index(
    say: Fixture, find: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "NEWEST", 2)
    await say("an old parcel", "one", "two", "a new parcel")

    assert await find("parcel") == ["an old parcel", "a new parcel"]


async def test_a_long_text_is_found(say: Fixture, find: Fixture, by: str) -> None:
    text = "".join(chr(0x4E00 + n) for n in range(90))
    await say(text[:89], f"before {text}.")

    assert await find(text) == [f"before {text}."]


async def test_the_messages_of_a_removed_conversation_are_removed_from_the_index(
    database: Fixture, chat: Fixture, say: Fixture, make_person: Fixture
) -> None:
    await say("secret of ann")
    await chat.call(make_person("bob"), name=None, source="here")

    await Conversation.delete(force=True)

    if database.engine_type == "sqlite":
        assert await Message.raw("SELECT folded FROM message_search") == []
    assert await Message.count() == 0


@given(body=st.text(min_size=1, max_size=12), data=st.data())
def test_every_text_contains_the_trigrams_of_its_parts(body: str, data: st.DataObject) -> None:
    folded = text.fold(body)
    start = data.draw(st.integers(0, len(folded)))

    wanted = folded[start : start + data.draw(st.integers(0, 9))]

    grams = search._grams(wanted)
    assert all(gram in folded for gram in grams)
    assert "".join(grams[:-1]) == wanted[: 3 * len(grams) - 3]
    assert wanted.endswith(grams[-1])


def test_only_the_first_combining_marks_in_a_row_are_searched() -> None:
    marks = "\u0315" * 4000

    assert text.fold(f"a{marks}b") == "a" + marks[: text.MOST_MARKS] + "b"


def test_accents_count_the_same_however_they_are_spelled() -> None:
    assert text.fold("CAFE\u0301") == text.fold("caf\u00e9") == "caf\u00e9"
