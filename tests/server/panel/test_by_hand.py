"""Tests of manual deletions in the database. A deleted row may leave other rows that refer to it."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from chatkey_protocol.codes import Close
from chatkey_server.storage import accounts
from chatkey_server.storage.tables import Administrator

Fixture = Any
LOGGED_OUT = ["sign_in_required", Close.TOKEN]


def by_hand(client: Fixture, statement: str) -> None:
    """Run a statement without enforcing foreign keys, as in SQLite's shell."""
    file = client.services.settings.database_url.removeprefix("sqlite:///")
    with sqlite3.connect(file) as connection:
        connection.execute(statement)
    connection.close()


async def codes_of(page: Fixture) -> list[object]:
    """Return the code of each frame that a page's socket receives until the close."""
    frames = [await page.next()]
    while frames[-1]["type"] != "closed":
        frames.append(await page.next())
    return [frame.get("code") for frame in frames]


@pytest.mark.parametrize("frame", [{"type": "list"}, {"type": "call", "action": "end"}, {"type": "thread"}])
async def test_an_agent_whose_row_is_gone_is_signed_out_and_does_not_become_the_labs_agent(
    lab: Fixture, agents: Fixture, make_agent: Fixture, make_people: Fixture, frame: dict[str, str]
) -> None:
    await make_agent("eve", ("prov",))
    await make_agent("adam")
    cookie = await agents.sign_in(lab)
    page, other = await agents.page_with(lab, cookie), await agents.page(lab, "adam")
    await make_people(lab).write(provider="other")
    conversation = (await other.next())["conversation"]

    by_hand(lab, "DELETE FROM agent WHERE username = 'eve'")
    await page.send(frame if frame["type"] == "list" else {**frame, "conversation": conversation})

    assert await codes_of(page) == LOGGED_OUT
    assert not await agents.sees_the_panel(lab, cookie)
    assert await codes_of(await agents.socket(lab, cookie)) == LOGGED_OUT
    assert (await other.ask({"type": "list"}))["type"] == "conversations"


async def test_the_labs_own_agent_stays_signed_in(lab: Fixture, agents: Fixture) -> None:
    answer = await lab.post("/agent/lab", headers={"Origin": "http://localhost:8800"})
    page = await agents.page_with(lab, answer.headers["set-cookie"].partition(";")[0], "lab agent")

    assert (await page.ask({"type": "list"}))["type"] == "conversations"


@pytest.mark.parametrize("table", ["provider", "chat_customer", "message", "conversation", "call"])
async def test_a_page_goes_on_when_rows_behind_it_are_gone(
    eve: Fixture, agents: Fixture, people: Fixture, table: str
) -> None:
    page = await agents.page(eve)
    await people.write()
    conversation = (await page.next())["conversation"]
    await people.call()
    assert (await page.next())["type"] == "call"

    by_hand(eve, f"DELETE FROM {table}")
    asked = [
        {"type": "list"},
        {"type": "thread", "conversation": conversation},
        {"type": "answer", "conversation": conversation, "id": "a1", "body": "hello"},
        {"type": "list"},
    ]
    codes = [(await page.ask(frame)).get("code") for frame in asked]

    assert set(codes) <= {None, "not_found"}


async def test_a_new_administrator_does_not_get_the_session_of_a_deleted_one(client: Fixture) -> None:
    headers = {"Origin": "http://localhost:8800"}
    await accounts.add(Administrator, "ada", "correct horse battery")
    headers["X-CSRFToken"] = (await client.get("/admin/")).cookies["csrftoken"]
    form = {"username": "ada", "password": "correct horse battery"}
    assert (await client.post("/admin/public/login/", json=form, headers=headers)).status_code == 200
    before = (await client.get("/admin/api/user/")).status_code

    by_hand(client, "DELETE FROM administrator")
    gone = (await client.get("/admin/api/user/")).status_code
    await accounts.add(Administrator, "bob", "correct horse battery")

    assert (before, gone, (await client.get("/admin/api/user/")).status_code) == (200, 401, 401)
