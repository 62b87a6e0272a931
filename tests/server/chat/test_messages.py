"""Tests of messages on both kinds of database: stored once, numbered without gaps, and visible only to their owner."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.proxy import Lost, Proxy

from chatkey_server.storage import engine, members
from chatkey_server.storage.tables import ChatCustomer, Conversation, Message

NOW = 1_800_000_000

Fixture = Any


async def post(chat: Fixture, person: Fixture, message_id: str, body: str = "hi", name: str | None = None) -> Any:
    return await chat.post(person, message_id, body, name=name, source="here")


async def bodies(chat: Fixture, person: Fixture) -> list[str]:
    messages, _ = await chat.history(person, None, 50)
    return [message["body"] for message in messages]


async def conversation_of(uid: str) -> Any:
    conversation = await Conversation.objects().where(Conversation.uid == uid).first()
    assert conversation is not None
    return conversation.id


LONG = """
    INSERT INTO message (id, conversation, seq, message_id, sender, body, folded, sent_at)
    SELECT gen_random_uuid(), {}, n, 'l' || n, 'customer', 'body', 'body', 1 FROM generate_series(2, 5001) AS n
"""


def most_rows(plan: dict[str, Any]) -> int:
    """Return the highest number of rows that a step of a query plan processed, including discarded rows."""
    own = int(plan["Actual Rows"]) + int(plan.get("Rows Removed by Filter", 0))
    return max(own, *(most_rows(inner) for inner in plan.get("Plans", [])), 0)


class TestPosting:
    @pytest.mark.contract("D-15/outage")
    @pytest.mark.parametrize("database_kind", ["postgres"])
    @pytest.mark.parametrize("lost", ["request", "answer"])
    async def test_a_message_whose_connection_breaks_is_repeated_and_stored_once(
        self, lost: Lost, proxied_url: str, postgres_proxy: Proxy, chat: Fixture, ann: Fixture
    ) -> None:
        async with engine.opened(proxied_url):
            await post(chat, ann, "m1", "first")
            postgres_proxy.let_go(lost)

            entry = await post(chat, ann, "m2", "second")

            assert (entry["seq"], await bodies(chat, ann)) == (2, ["first", "second"])

    async def test_numbers_have_no_gap_when_many_write_at_once(
        self, chat: Fixture, ann: Fixture, eve: Fixture, make_person: Fixture
    ) -> None:
        first = await post(chat, ann, "first")
        conversation = await conversation_of("ann")

        stored = await asyncio.gather(
            *(post(chat, ann, f"m{n}") for n in range(10)),
            *(post(chat, ann, "resent") for _ in range(5)),
            *(chat.answer(conversation, f"a{n}", "yes", agent=eve) for n in range(10)),
            *(post(chat, make_person("bob"), f"m{n}") for n in range(5)),
        )

        assert first["seq"] == 1
        assert {entry["seq"] for entry in stored[:25]} == set(range(2, 23))
        assert sorted(entry["seq"] for entry in stored[25:]) == list(range(1, 6))

    @pytest.mark.parametrize("database_kind", ["postgres"])
    async def test_a_further_message_is_stored_without_a_transaction_of_several_statements(
        self, chat: Fixture, ann: Fixture, database: Fixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await post(chat, ann, "m1")
        with monkeypatch.context() as patched:
            patched.setattr(database, "connection", None)  # a transaction would fail

            entry = await post(chat, ann, "m2", "again")

        assert entry == {"id": "m2", "seq": 2, "sender": "customer", "name": "Ann", "body": "again", "sent_at": NOW}
        assert await chat.history(ann, None, 1) == ([entry], True)

    async def test_a_further_message_moves_the_conversation_up_and_marks_it_as_waiting(
        self, chat: Fixture, ann: Fixture, make_agent: Fixture, time: Fixture
    ) -> None:
        await post(chat, ann, "m1")
        await chat.answer(await conversation_of("ann"), "a1", "hello", agent=await make_agent())
        time.now += 60

        await post(chat, ann, "m2")

        conversation = await Conversation.objects().get(Conversation.uid == "ann")
        assert conversation is not None
        assert (conversation.last_seq, conversation.last_at, conversation.waiting) == (3, (NOW + 60) * 1000, True)
        assert conversation.answered_by == "eve"

    async def test_after_a_conversation_was_erased_the_next_message_begins_another(
        self, chat: Fixture, ann: Fixture
    ) -> None:
        await post(chat, ann, "m1")
        await post(chat, ann, "m2")
        await Conversation.delete().where(Conversation.uid == "ann")

        assert (await post(chat, ann, "m3", "after"))["seq"] == 1
        assert await bodies(chat, ann) == ["after"]

    async def test_two_first_messages_at_once_begin_one_conversation(self, chat: Fixture, ann: Fixture) -> None:
        stored = await asyncio.gather(post(chat, ann, "m1"), post(chat, ann, "m2"), post(chat, ann, "m3"))

        assert sorted(entry["seq"] for entry in stored) == [1, 2, 3]
        assert await Conversation.count() == 1
        assert await ChatCustomer.count() == 1


class TestHistory:
    @pytest.mark.parametrize("database_kind", ["postgres"])
    async def test_a_page_of_a_long_conversation_reads_the_page_and_no_more(
        self, chat: Fixture, ann: Fixture, database: Fixture
    ) -> None:
        """PostgreSQL's estimate of the conversation's length must not change how many rows are read."""
        await post(chat, ann, "m1")
        await Message.raw(LONG, await conversation_of("ann"))
        await Conversation.update({Conversation.last_seq: 5001}).where(Conversation.uid == "ann")
        await Message.raw("ANALYZE message")
        asked: list[str] = []
        run = database.run_querystring

        async def noted(querystring: Any, in_pool: bool = False) -> Any:
            asked.append(str(querystring))
            return await run(querystring, in_pool)

        database.run_querystring = noted
        page, _ = await chat.history(ann, 4000, 50)
        database.run_querystring = run

        (query,) = (one for one in asked if '"message"."body"' in one)
        (explained,) = await Message.raw(
            "EXPLAIN (ANALYZE, FORMAT JSON) " + query.replace("{", "{{").replace("}", "}}")
        )
        assert [entry["seq"] for entry in page] == list(range(3950, 4000))
        assert most_rows(msgspec.json.decode(explained["QUERY PLAN"])[0]["Plan"]) == 51

    @pytest.mark.contract("2.7/history-apart", "D-11/keyed", "D-11/custom-not-social")
    async def test_the_same_uid_with_another_login_or_provider_is_another_person(
        self, chat: Fixture, make_person: Fixture
    ) -> None:
        """F106: a custom login with the uid `google:1` must not open the record of the social member."""
        people = [
            make_person("google:1", login="visitor"),
            make_person("google:1", login="custom"),
            make_person("google:1", login="social"),
            make_person("google:1", login="custom", pid="other"),
        ]
        for n, person in enumerate(people):
            await post(chat, person, "m1", f"from {n}")

        assert [await bodies(chat, person) for person in people] == [["from 0"], ["from 1"], ["from 2"], ["from 3"]]


class TestMemberRecords:
    @pytest.mark.contract("2.7/custom-on-first")
    async def test_a_custom_member_gets_a_record_with_the_first_message(self, chat: Fixture, ann: Fixture) -> None:
        """F199: a member who writes nothing must get no record."""
        assert await ChatCustomer.count() == 0

        await post(chat, ann, "m1", name="Ann from the header")

        record = await ChatCustomer.objects().first()
        assert record is not None
        assert (record.provider, record.login, record.uid) == ("prov", "custom", "ann")
        assert (record.name, record.email) == ("Ann from the header", "ann@shop.test")
        assert record.auth_provider is None
        conversation = await Conversation.objects().first()
        assert conversation is not None
        assert conversation.customer == record.id

    async def test_a_new_name_updates_the_record_and_old_messages_keep_theirs(
        self, chat: Fixture, ann: Fixture
    ) -> None:
        """F200: the test covers custom logins."""
        await post(chat, ann, "m1", name="Ann")
        await post(chat, ann, "m2", name="Anna")

        assert await ChatCustomer.select(ChatCustomer.name) == [{"name": "Anna"}]
        messages, _ = await chat.history(ann, None, 50)
        assert [message["name"] for message in messages] == ["Ann", "Anna"]

    async def test_the_record_has_the_data_of_the_last_message(self, chat: Fixture, make_person: Fixture) -> None:
        one = make_person("ann", name="Ann", email="ann@shop.test", avatar="https://shop.test/1.png")
        other = make_person("ann", name="Ann", email="ann@new.test", avatar="https://shop.test/2.png")
        for number, person in enumerate((one, one, other, other, one)):
            await post(chat, person, f"m{number}")

            (record,) = await ChatCustomer.select(ChatCustomer.name, ChatCustomer.email, ChatCustomer.avatar)
            profile = person.profile
            assert record == {"name": profile.name, "email": profile.email, "avatar": profile.avatar}

    async def test_a_record_that_was_removed_is_written_again(self, chat: Fixture, ann: Fixture) -> None:
        await post(chat, ann, "m1")
        await ChatCustomer.delete(force=True)

        await post(chat, ann, "m2")

        (record,) = await ChatCustomer.select(ChatCustomer.id, ChatCustomer.email)
        assert record["email"] == "ann@shop.test"
        (conversation,) = await Conversation.select(Conversation.customer)
        assert conversation["customer"] == record["id"]

    @pytest.mark.contract("2.7/social-record")
    async def test_a_social_members_record_is_the_callbacks_and_stays_as_it_is(
        self, chat: Fixture, make_person: Fixture
    ) -> None:
        written = await members.upsert(
            provider="prov",
            login="social",
            uid="google:7",
            auth_provider="google",
            name="Goo",
            email=None,
            avatar=None,
            now=NOW,
        )

        await post(chat, make_person("google:7", login="social", name="Goo"), "m1", name="Somebody else")

        assert await ChatCustomer.select(ChatCustomer.id, ChatCustomer.name) == [{"id": written.id, "name": "Goo"}]
        assert await Conversation.select(Conversation.customer) == [{"customer": written.id}]


class TestTelling:
    @pytest.mark.contract("D-15/deaf")
    async def test_a_message_sent_again_is_told_again_with_its_number(
        self, chat: Fixture, ann: Fixture, listen: Fixture, time: Fixture
    ) -> None:
        """The process that stored the message may have died before publishing it.

        Listeners ignore repeated messages.
        """
        own, agents = listen(ann), listen()

        for message_id in ("m1", "m1", "m2"):
            time.now += 1
            await post(chat, ann, message_id)

        told = [(await agents.next())[0] for _ in range(3)]
        assert [(await own.next())[0]["seq"] for _ in range(3)] == [1, 1, 2]
        assert [frame["message"]["seq"] for frame in told] == [1, 1, 2]
        assert told[0]["last_at"] == told[1]["last_at"] == told[2]["last_at"] - 2000
