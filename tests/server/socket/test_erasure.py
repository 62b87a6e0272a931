"""Tests that `chatkey member erase` erases all data of one person, and nothing else, while a server is running."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any, Final

import asyncpg  # type: ignore[import-untyped]
import pytest
from tests.server.socket.conftest import SECRET, Browser

from chatkey_protocol.codes import Close, Code
from chatkey_server.chat.catch_up import LOOK_AGAIN
from chatkey_server.chat.events import ALL_PAGES, customer_channel
from chatkey_server.storage import admin, agent_sessions
from chatkey_server.storage.agent_sessions import SignedIn
from chatkey_server.storage.engine import SQLITE
from chatkey_server.storage.tables import Agent, Conversation
from chatkey_stack.patience import PATIENCE

Fixture = Any
Rows = dict[str, set[str]]

MASTER_KEY: Final = "m" * 32
ADA: Final = "ada-4711"
TRACES: Final = (ADA, "ada lovelace", "ada@home.test", "zanzibar", "dear ada")
"""Texts that identify ada, in lower case because searchable text is stored in lower case."""
COMMAND: Final = "from chatkey_server.commands.member import member; member()"


class Place:
    """A running server, and people who connect to the server with separate keys."""

    def __init__(self, client: Fixture, open_socket: Fixture, agent: SignedIn) -> None:
        self.services = client.services
        self.listens = asyncio.Event()
        self._client = client
        self._open_socket = open_socket
        self._agent = agent
        self._browsers: dict[str, Browser] = {}
        self.services.hub.on_join(self._joined)

    async def join(self, uid: str, name: str = "Bob") -> Fixture:
        """Connect as a member. If the uid is empty, connect as a visitor."""
        browser, now = self._browsers.setdefault(uid, Browser()), self.services.clock()
        token = browser.custom_token(uid, now=now, name=name, email=f"{name[:3].lower()}@home.test")
        return await self._connected(browser, token if uid else browser.visitor_token(now=now))

    async def _connected(self, browser: Browser, token: str) -> Fixture:
        socket = await self._open_socket(self._client, "/v1/socket", subprotocols=["wf.v1"])
        nonce = (await socket.next())["nonce"]
        uri, now = self.services.settings.socket_uri, self.services.clock()
        proof = browser.proof(token, nonce, uri=uri, now=now)
        assert (await socket.ask({"type": "connect", "token": token, "proof": proof}))["type"] == "ready"
        return socket

    async def answer(self, uid: str, body: str) -> None:
        """Reply to a person as an agent."""
        conversation = await Conversation.objects().get(Conversation.uid == uid)
        assert conversation is not None
        await self.services.chat.answer(conversation.id, "a1", body, agent=self._agent)

    async def erase(self, *arguments: str) -> tuple[int, str]:
        """Run `chatkey member erase` in a separate process, and return its exit status and output."""
        settings = self.services.settings
        environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")} | {
            "CHATKEY_DATA_DIR": str(settings.data_dir),
            "CHATKEY_DATABASE_URL": settings.database,
            "CHATKEY_REDIS_URL": settings.redis_url,
            "CHATKEY_MASTER_KEY": MASTER_KEY,
        }
        command = [sys.executable, "-c", COMMAND, "erase", *arguments]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, env=environ, stdout=pipe, stderr=pipe)
        out, err = await process.communicate()
        return process.returncode or 0, out.decode() + err.decode()

    def _joined(self, channel: str) -> None:
        if channel == customer_channel("prov", "custom", ADA):
            self.listens.set()


@pytest.fixture
async def place(make_client: Fixture, open_socket: Fixture, database_url: str, redis_url: str) -> AsyncIterator[Place]:
    """A server with Redis and the provider `prov`. Each test runs once with each kind of database."""
    async with make_client(database_url=database_url, redis_url=redis_url, master_key=(MASTER_KEY,)) as client:
        vault, now = client.services.vault, client.services.clock()
        await admin.add_provider(vault, now=now, id="prov", secret_key=SECRET.decode())
        agent = Agent(username="eve", password_hash="", all_providers=True)
        await Agent.insert(agent)
        signed_in = await agent_sessions.of_token(await agent_sessions.begin(agent, now) or "", now)
        assert signed_in is not None
        yield Place(client, open_socket, signed_in)


async def everything_in(url: str) -> Rows:
    if not url.startswith(SQLITE):
        return await _everything_in_postgres(url)
    with closing(sqlite3.connect(url.removeprefix(SQLITE))) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {table: {str(row) for row in database.execute(f"SELECT * FROM {table}")} for table in tables}


async def _everything_in_postgres(url: str) -> Rows:
    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {
            table: {row["text"] for row in await connection.fetch(f"SELECT t::text AS text FROM {table} AS t")}
            for (table,) in tables
        }
    finally:
        await connection.close()


def with_traces(rows: Rows) -> set[str]:
    """Return the tables that contain a trace of ada."""
    return {table for table, texts in rows.items() for text in texts if any(trace in text.lower() for trace in TRACES)}


async def reply(socket: Fixture, frame: dict[str, object], kind: str) -> Any:
    """Send a frame, and return the next frame of this kind. Other frames are skipped."""
    await socket.send(frame)
    return await next_of(socket, kind)


async def next_of(socket: Fixture, kind: str) -> Any:
    """Return the next frame of this kind. Other frames are skipped."""
    while (frame := await socket.next())["type"] != kind:
        pass
    return frame


async def test_erasing_a_person_leaves_no_trace_of_them_and_all_of_everybody_else(place: Place) -> None:
    url, told = place.services.settings.database, asyncio.Event()
    place.services.hub.add(ALL_PAGES, lambda payload: told.set() if payload == LOOK_AGAIN else None)
    bob, visitor = await place.join("bob"), await place.join("")
    for number, socket in enumerate((bob, visitor)):
        await socket.ask({"type": "message", "id": f"m{number}", "body": "the parcel is late"})
    await place.answer("bob", "Dear Bob")
    others = await everything_in(url)
    ada = await place.join(ADA, "Ada Lovelace")
    await asyncio.wait_for(place.listens.wait(), PATIENCE)
    for number in range(3):
        await ada.ask({"type": "message", "id": f"m{number}", "body": f"I live in Zanzibar, house {number}"})
    await ada.ask({"type": "call", "id": "c1", "action": "start"})
    await place.answer(ADA, "Dear Ada")
    assert {"chat_customer", "conversation", "message"} <= with_traces(await everything_in(url))

    status, output = await place.erase("prov", "custom", ADA, "--yes")

    assert status == 0, output
    assert f"Erased custom '{ADA}' of 'prov': 1 record, 1 conversation, 4 messages, 1 call." in output
    assert "What remains, and why:" in output
    assert (await next_of(ada, "error"))["code"] == Code.TOKEN_REVOKED
    assert (await ada.next())["code"] == Close.FORBIDDEN
    await asyncio.wait_for(told.wait(), PATIENCE)
    left = await everything_in(url)
    assert with_traces(left) == set()
    index = {table for table in left if table.startswith("message_search_")}  # SQLite's own tables for the search index
    assert {table: rows for table, rows in left.items() if table not in index} == {
        table: rows for table, rows in others.items() if table not in index
    }
    assert (await reply(bob, {"type": "history", "id": "h"}, "history"))["messages"][-1]["body"] == "Dear Bob"
    assert (await reply(bob, {"type": "search", "id": "s", "query": "parcel"}, "search"))["messages"]
    assert await reply(visitor, {"type": "ping"}, "pong")


async def test_after_an_erasure_an_old_token_starts_a_new_conversation(place: Place) -> None:
    ada = await place.join(ADA, "Ada Lovelace")
    await ada.ask({"type": "message", "id": "m1", "body": "I live in Zanzibar"})
    await place.erase("prov", "custom", ADA, "--yes")

    again = await place.join(ADA, "Ada Lovelace")
    history = await reply(again, {"type": "history", "id": "h"}, "history")
    ack = await reply(again, {"type": "message", "id": "m2", "body": "hello?"}, "ack")

    assert (history["messages"], ack["seq"]) == ([], 1)


async def test_a_visitor_is_erased_by_the_uid_of_their_key(place: Place) -> None:
    visitor, ada = await place.join(""), await place.join(ADA)
    for socket in (visitor, ada):
        await socket.ask({"type": "message", "id": "m1", "body": "I live in Zanzibar"})
    uid = place._browsers[""].uid

    _, output = await place.erase("prov", "visitor", uid, "--yes")

    assert "0 records, 1 conversation, 1 message, 0 calls." in output
    assert uid not in json.dumps(await everything_in(place.services.settings.database), default=list)
    assert (await reply(ada, {"type": "history", "id": "h"}, "history"))["messages"]


async def test_without_yes_nothing_is_changed_and_no_socket_closes(place: Place) -> None:
    url = place.services.settings.database
    ada = await place.join(ADA, "Ada Lovelace")
    await ada.ask({"type": "message", "id": "m1", "body": "I live in Zanzibar"})
    before = await everything_in(url)

    status, output = await place.erase("prov", "custom", ADA)

    assert status == 0
    assert f"Would erase custom '{ADA}' of 'prov': 1 record, 1 conversation, 1 message, 0 calls." in output
    assert "Repeat the command with --yes" in output
    assert await everything_in(url) == before
    assert await reply(ada, {"type": "ping"}, "pong")


async def test_another_spelling_login_or_provider_erases_nothing(place: Place) -> None:
    url = place.services.settings.database
    ada = await place.join(ADA)
    await ada.ask({"type": "message", "id": "m1", "body": "I live in Zanzibar"})
    before = await everything_in(url)

    _, other_case = await place.erase("prov", "custom", ADA.upper(), "--yes")
    _, other_login = await place.erase("prov", "social", ADA, "--yes")
    _, pattern = await place.erase("prov", "custom", "%", "--yes")
    status, other_provider = await place.erase("prvo", "custom", ADA, "--yes")

    assert all("Nothing is stored of" in output for output in (other_case, other_login, pattern))
    assert (status, "There is no provider 'prvo'" in other_provider) == (1, True)
    assert await everything_in(url) == before
    assert await reply(ada, {"type": "ping"}, "pong")
