"""Tests of the agents' view of their conversations (D-21): person, last message, filters, search and pages."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.server.chat.test_messages import most_rows

from chatkey_server.chat import desk
from chatkey_server.chat.desk import Filter, Place
from chatkey_server.storage import members
from chatkey_server.storage.tables import Conversation

NOW = 1_800_000_000

Fixture = Any


async def post(chat: Fixture, person: Fixture, message_id: str = "m1", body: str = "hello") -> None:
    await chat.post(person, message_id, body, name=None, source="")


async def conversation_of(uid: str) -> UUID:
    row = await Conversation.select(Conversation.id).where(Conversation.uid == uid).first()
    assert row is not None
    found: UUID = row["id"]
    return found


async def uids(agent: Fixture, **wanted: Any) -> list[str]:
    return [item["uid"] for item in (await desk.overview(agent, Filter(**wanted)))["items"]]


def place(item: Fixture) -> Place:
    return Place(item["last_at"], UUID(item["id"]))


async def known_member(uid: str, name: str | None, email: str | None) -> None:
    await members.upsert(
        provider="prov",
        login="social",
        uid=uid,
        auth_provider="github",
        name=name,
        email=email,
        avatar=None,
        now=NOW,
    )


class TestTheList:
    @pytest.mark.contract("2.7/agent-panel")
    async def test_each_conversation_shows_who_it_is_and_how_they_logged_in(
        self, chat: Fixture, ann: Fixture, eve: Fixture, make_person: Fixture, time: Fixture
    ) -> None:
        await known_member("github:7", "Goo", "goo@hub.test")
        people = [make_person("v_1", login="visitor"), ann, make_person("github:7", login="social", pid="prov")]
        for person in people:
            time.now += 1
            await post(chat, person, "m1", f"hello from {person.uid}")

        listed = (await desk.overview(eve))["items"]

        assert [
            (item["login"], item["uid"], item["name"], item["email"], item["auth_provider"]) for item in listed
        ] == [
            ("social", "github:7", "Goo", "goo@hub.test", "github"),
            ("custom", "ann", "Ann", "ann@shop.test", None),
            ("visitor", "v_1", None, None, None),
        ]
        last = [item["last"] and item["last"]["body"] for item in listed]
        assert last == ["hello from github:7", "hello from ann", "hello from v_1"]

    @pytest.mark.parametrize("names", [("ann", "bob", "cid"), ("cid", "bob", "ann")], ids="-".join)
    async def test_conversations_written_to_within_one_second_are_in_order(
        self, chat: Fixture, eve: Fixture, make_person: Fixture, time: Fixture, names: tuple[str, ...]
    ) -> None:
        for name in names:
            time.now += 0.125
            await post(chat, make_person(name))

        assert await uids(eve) == [*reversed(names)]

    async def test_a_call_moves_its_conversation_to_the_top(
        self, chat: Fixture, ann: Fixture, eve: Fixture, make_person: Fixture, time: Fixture
    ) -> None:
        for person in (ann, make_person("bob"), make_person("cid")):
            time.now += 1
            await post(chat, person)
        time.now += 1

        await chat.call(ann, name=None, source="")

        listed = (await desk.overview(eve))["items"]
        assert [(item["uid"], item["call"] and item["call"]["state"]) for item in listed] == [
            ("ann", "ringing"),
            ("cid", None),
            ("bob", None),
        ]


MANY = """
    INSERT INTO conversation (id, provider, login, uid, last_seq, last_at, waiting)
    SELECT gen_random_uuid(), CASE WHEN n % 100 = 0 THEN 'prov' ELSE 'other' END, 'visitor', 'v_' || n, 0, n, false
    FROM generate_series(1, 20000) AS n
"""


SAID = """
    INSERT INTO message (id, conversation, seq, message_id, sender, body, folded, sent_at)
    SELECT gen_random_uuid(), conversation.id, n, 'm' || n, 'customer', 'Hello', 'hello', n
    FROM conversation, generate_series(1, 2000) AS n WHERE uid IN ('v_19998', 'v_19999', 'v_20000')
"""


FILTERS = (Filter(), Filter(provider="prov"), Filter(members=True), Filter(waiting=True), Filter(mine=True))


def page_of(agent: Fixture, wanted: Filter) -> str:
    """Return the query of the list's first page."""
    query = desk._matching(agent, wanted).order_by(Conversation.last_at, Conversation.id, ascending=False)
    return f"{query} LIMIT 51"


async def planned(query: Fixture) -> str:
    """Run a query, and return PostgreSQL's plan with the measured numbers of rows."""
    text = str(query).replace("{", "{{").replace("}", "}}")
    (explained,) = await Conversation.raw(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}")
    plan: str = explained["QUERY PLAN"]
    return plan


class TestPaging:
    @pytest.mark.parametrize("database_kind", ["postgres"])
    async def test_a_page_of_one_business_does_not_read_those_of_others(
        self, make_agent: Fixture, database: Fixture
    ) -> None:
        """PostgreSQL must use the index on provider and time. SQLite reads rows in the order of this index."""
        agent = await make_agent("zoe", ("prov",))
        await Conversation.raw(MANY)
        await Conversation.raw("ANALYZE conversation")

        plan = await planned(page_of(agent, Filter()))

        assert "conversation_of_provider" in plan
        assert most_rows(msgspec.json.decode(plan)[0]["Plan"]) <= 200  # the business has 200 conversations
        assert len((await desk.overview(agent))["items"]) == 50

    @pytest.mark.parametrize("wanted", FILTERS)
    @pytest.mark.parametrize("database_kind", ["postgres"])
    async def test_a_page_reads_no_more_rows_from_many_conversations_of_one_moment(
        self, make_agent: Fixture, database: Fixture, wanted: Filter
    ) -> None:
        agent = await make_agent("zoe")
        await Conversation.raw(MANY)
        await Conversation.raw("UPDATE conversation SET last_at = 7, login = 'custom', provider = 'prov'")
        await Conversation.raw("UPDATE conversation SET waiting = true, answered_by = 'zoe'")
        await Conversation.raw("ANALYZE conversation")

        plan = await planned(page_of(agent, wanted))

        assert most_rows(msgspec.json.decode(plan)[0]["Plan"]) <= 51

    @pytest.mark.parametrize("wanted", FILTERS)
    @pytest.mark.parametrize("database_kind", ["sqlite"])
    async def test_sqlite_reads_a_page_in_the_order_of_an_index(
        self, make_agent: Fixture, database: Fixture, wanted: Filter
    ) -> None:
        agent = await make_agent("zoe")

        steps = await Conversation.raw(f"EXPLAIN QUERY PLAN {page_of(agent, wanted)}")

        details = [step["detail"] for step in steps]
        assert any("USING INDEX conversation_" in detail for detail in details)
        assert not [detail for detail in details if "TEMP B-TREE" in detail]

    @pytest.mark.parametrize("database_kind", ["postgres"])
    async def test_only_the_last_message_of_each_conversation_is_read(
        self, make_agent: Fixture, database: Fixture
    ) -> None:
        """The query must not read more rows if the conversations have more messages."""
        agent = await make_agent("zoe")
        await Conversation.raw(MANY)
        await Conversation.raw(SAID)
        await Conversation.raw("UPDATE conversation SET last_seq = 2000 WHERE uid IN ('v_19998', 'v_19999', 'v_20000')")
        await Conversation.raw("ANALYZE")
        items = (await desk.overview(agent))["items"]

        plan = await planned(desk._messages({UUID(item["id"]): 2000 for item in items[:3]}))

        assert most_rows(msgspec.json.decode(plan)[0]["Plan"]) <= 3
        assert [item["last"] and item["last"]["seq"] for item in items[:4]] == [2000, 2000, 2000, None]

    async def test_the_pages_hold_every_conversation_once_also_those_of_one_second(
        self, chat: Fixture, eve: Fixture, make_person: Fixture, time: Fixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(desk, "PAGE", 3)
        for n in range(8):
            time.now += n in {2, 7}  # two at one time, five a second later, the last one after that
            await post(chat, make_person(f"p{n}"))

        first = await desk.overview(eve)
        second = await desk.overview(eve, before=place(first["items"][-1]))
        third = await desk.overview(eve, before=place(second["items"][-1]))

        pages = [[item["uid"] for item in page["items"]] for page in (first, second, third)]
        assert [page["more"] for page in (first, second, third)] == [True, True, False]
        assert [len(page) for page in pages] == [3, 3, 2]
        assert {uid for page in pages for uid in page} == {f"p{n}" for n in range(8)}
        assert pages[0][0] == "p7"
        assert set(pages[2]) == {"p0", "p1"}

    async def test_conversations_that_move_to_the_top_do_not_shift_the_pages(
        self, chat: Fixture, eve: Fixture, make_person: Fixture, time: Fixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(desk, "PAGE", 2)
        for n in range(5):
            time.now += 1
            await post(chat, make_person(f"p{n}"))
        first = await desk.overview(eve)
        time.now += 1
        await post(chat, make_person("new"))
        await post(chat, make_person("p0"), "m2")

        second = await desk.overview(eve, before=place(first["items"][-1]))

        assert [item["uid"] for item in second["items"]] == ["p2", "p1"]

    async def test_every_page_applies_the_filter(
        self, chat: Fixture, eve: Fixture, make_person: Fixture, time: Fixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(desk, "PAGE", 2)
        for n in range(6):
            time.now += 1
            await post(chat, make_person(f"p{n}", login="custom" if n % 2 else "visitor"))

        first = await desk.overview(eve, Filter(members=True))
        second = await desk.overview(eve, Filter(members=True), place(first["items"][-1]))

        assert [item["uid"] for item in (*first["items"], *second["items"])] == ["p5", "p3", "p1"]
        assert (first["more"], second["more"]) == (True, False)


class TestFilters:
    async def test_the_list_can_be_filtered_by_each_criterion_and_by_several(
        self, chat: Fixture, ann: Fixture, eve: Fixture, make_person: Fixture
    ) -> None:
        bob = make_person("bob", pid="other")
        for person in (ann, bob, make_person("v_1", login="visitor")):
            await post(chat, person)
        await chat.answer(await conversation_of("bob"), "a1", "yes?", agent=eve)

        assert set(await uids(eve)) == {"ann", "bob", "v_1"}
        assert await uids(eve, provider="other") == ["bob"]
        assert await uids(eve, provider="nobody") == []
        assert set(await uids(eve, members=True)) == {"ann", "bob"}
        assert await uids(eve, members=True, waiting=True) == ["ann"]
        assert await uids(eve, members=True, mine=True, query="BOB") == ["bob"]

    async def test_a_writer_counts_as_waiting_until_an_agent_answers(
        self, chat: Fixture, ann: Fixture, eve: Fixture
    ) -> None:
        await post(chat, ann)
        before = await uids(eve, waiting=True)
        await chat.answer(await conversation_of("ann"), "a1", "yes?", agent=eve)
        answered = await uids(eve, waiting=True)
        await post(chat, ann, "m2")

        assert (before, answered, await uids(eve, waiting=True)) == (["ann"], [], ["ann"])

    @pytest.mark.parametrize("act", ["take_call", "end_call"])
    async def test_a_caller_counts_as_waiting_until_an_agent_accepts_or_ends_the_call(
        self, chat: Fixture, ann: Fixture, eve: Fixture, act: str
    ) -> None:
        await chat.call(ann, name=None, source="")
        ringing = await uids(eve, waiting=True)

        await getattr(chat, act)(await conversation_of("ann"), agent=eve)

        assert (ringing, await uids(eve, waiting=True)) == (["ann"], [])

    async def test_a_call_that_nobody_took_leaves_the_person_waiting(
        self, chat: Fixture, ann: Fixture, eve: Fixture
    ) -> None:
        await chat.call(ann, name=None, source="")

        await chat.hang_up(ann, source="")

        assert await uids(eve, waiting=True) == ["ann"]

    async def test_mine_lists_conversations_that_i_answered_last(
        self, chat: Fixture, eve: Fixture, make_agent: Fixture, make_person: Fixture
    ) -> None:
        bob = await make_agent("bob")
        for uid in ("one", "two", "three"):
            await post(chat, make_person(uid))
        await chat.answer(await conversation_of("one"), "a1", "yes?", agent=eve)
        await chat.answer(await conversation_of("two"), "a1", "yes?", agent=eve)
        await chat.answer(await conversation_of("two"), "a2", "I take over", agent=bob)
        await chat.call(make_person("three"), name=None, source="")
        await chat.take_call(await conversation_of("three"), agent=bob)

        assert await uids(eve, mine=True) == ["one"]
        assert set(await uids(bob, mine=True)) == {"two", "three"}


class TestSearch:
    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("müll", "github:1"),
            ("MÜLLER", "github:1"),
            ("Mu\u0308ller", "github:1"),
            ("JÜRGEN@", "github:1"),
            ("github:1", "github:1"),
            ("v_AbC", "v_aBcDe"),
            ("100%", "github:2"),
            ("under_", "github:2"),
            ("!", "github:2"),
        ],
    )
    async def test_a_person_is_found_by_name_email_and_uid(
        self, chat: Fixture, eve: Fixture, make_person: Fixture, query: str, found: str
    ) -> None:
        await known_member("github:1", "Jürgen Müller", "jürgen@shop.test")
        await known_member("github:2", "100% under_score!", None)
        await known_member("github:3", "1000 underscore", "none@shop.test")
        for uid in ("github:1", "github:2", "github:3"):
            await post(chat, make_person(uid, login="social"))
        await post(chat, make_person("v_aBcDe", login="visitor"))

        assert await uids(eve, query=query) == [found]

    async def test_texts_of_messages_are_not_searched(self, chat: Fixture, ann: Fixture, eve: Fixture) -> None:
        await post(chat, ann, body="where is my parcel")

        assert await uids(eve, query="parcel") == []

    async def test_only_the_current_name_of_a_person_is_found(
        self, chat: Fixture, eve: Fixture, make_person: Fixture
    ) -> None:
        await post(chat, make_person("u1", name="Ada Old"))
        await post(chat, make_person("u1", name="Ada New"), "m2")

        assert (await uids(eve, query="old"), await uids(eve, query="new")) == ([], ["u1"])


async def test_a_thread_is_read_page_by_page(
    chat: Fixture, ann: Fixture, eve: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatkey_server.chat.desk.ENTRIES", 2)
    for n in range(1, 4):
        await post(chat, ann, f"m{n}", str(n))
    conversation = await conversation_of("ann")

    newest = await desk.thread(eve, conversation)
    oldest = await desk.thread(eve, conversation, before=2)

    assert ([entry["body"] for entry in newest["messages"]], newest["more"]) == (["2", "3"], True)
    assert ([entry["body"] for entry in oldest["messages"]], oldest["more"]) == (["1"], False)
