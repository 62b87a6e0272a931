"""Tests of agents' sessions. The end of a session must close its pages, at once or within a time limit (D-21)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from chatkey_protocol.codes import Close, Code
from chatkey_server.chat.events import AGENT_SESSIONS
from chatkey_server.identity.errors import Refused
from chatkey_server.panel import watch
from chatkey_server.storage import accounts, agent_sessions
from chatkey_server.storage import agents as stored
from chatkey_server.storage.agent_sessions import LIFETIME_SECONDS
from chatkey_server.storage.tables import Agent, Call

Fixture = Any
Act = Callable[[], Awaitable[None]]
LOGGED_OUT = [
    ("error", "sign_in_required"),
    ("closed", Close.TOKEN),
]


async def remove_eve() -> None:
    await accounts.remove(Agent, "eve")


async def give_eve_a_password() -> None:
    await accounts.set_password(Agent, "eve", "another password")


async def limit_eve() -> None:
    await stored.set_providers("eve", [])


ENDS = pytest.mark.parametrize("end", [remove_eve, give_eve_a_password, limit_eve])


async def rest_of(page: Fixture) -> list[tuple[str, str | int | None]]:
    """Return the type and code of each frame that a page still receives before it is closed."""
    frames = [await page.next()]
    while frames[-1]["type"] != "closed":
        frames.append(await page.next())
    return [(frame["type"], frame.get("code")) for frame in frames]


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the sessions only once an hour, so that no check happens during the test."""
    monkeypatch.setattr(watch, "CHECK_SECONDS", 3600)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "CHECK_SECONDS", 0.02)


class TestSigningOut:
    @pytest.mark.contract("D-21/sessions")
    async def test_a_cookie_that_was_signed_out_opens_nothing(self, eve: Fixture, agents: Fixture) -> None:
        cookie, other = await agents.sign_in(eve), await agents.sign_in(eve)
        before = await agents.sees_the_panel(eve, cookie)

        await agents.sign_out(eve, cookie)

        assert (before, await agents.sees_the_panel(eve, cookie)) == (True, False)
        assert await rest_of(await agents.socket(eve, cookie)) == LOGGED_OUT
        assert await agents.sees_the_panel(eve, other)

    @pytest.mark.usefixtures("seldom")
    @pytest.mark.contract("D-21/sessions")
    async def test_open_pages_of_that_session_end_at_once_and_get_no_further_frames(
        self, eve: Fixture, agents: Fixture, people: Fixture
    ) -> None:
        cookie = await agents.sign_in(eve)
        pages = [await agents.page_with(eve, cookie), await agents.page_with(eve, cookie)]
        other = await agents.page(eve)

        await agents.sign_out(eve, cookie)
        ends = [await rest_of(page) for page in pages]
        await people.write()

        assert ends == [LOGGED_OUT] * 2
        assert (await other.next())["message"]["body"] == "hello"

    async def test_the_browser_forgets_the_cookie(self, eve: Fixture, agents: Fixture) -> None:
        answer = await agents.sign_out(eve, await agents.sign_in(eve))

        assert "max-age=0" in answer.headers["set-cookie"].lower()
        assert answer.headers["set-cookie"].startswith(("chatkey_agent=;", 'chatkey_agent="";'))

    async def test_signing_out_with_an_unknown_cookie_changes_nothing(self, eve: Fixture, agents: Fixture) -> None:
        told: list[bytes] = []
        with eve.services.hub.listen(AGENT_SESSIONS, told.append):
            for cookie in ("chatkey_agent=made-up", "chatkey_agent=", "another=1"):
                assert (await agents.sign_out(eve, cookie)).status_code == 303
            real = await agents.sign_in(eve)
            before = list(told)
            page = await agents.page_with(eve, real)
            await agents.sign_out(eve, real)
            await rest_of(page)

        assert (before, told) == ([], [b""])

    async def test_signing_in_again_ends_the_session_the_browser_had(self, eve: Fixture, agents: Fixture) -> None:
        first = await agents.sign_in(eve)

        second = await agents.sign_in(eve, cookie=first)

        assert first != second
        assert not await agents.sees_the_panel(eve, first)
        assert await agents.sees_the_panel(eve, second)

    async def test_a_planted_cookie_is_not_used_for_the_session(self, eve: Fixture, agents: Fixture) -> None:
        planted = "chatkey_agent=chosen-by-an-attacker"

        given = await agents.sign_in(eve, cookie=planted)

        assert given != planted
        assert not await agents.sees_the_panel(eve, planted)

    @pytest.mark.usefixtures("seldom")
    async def test_a_session_ends_after_twelve_hours_for_an_open_page_too(
        self, eve: Fixture, agents: Fixture, clock: Fixture
    ) -> None:
        cookie = await agents.sign_in(eve)
        page = await agents.page_with(eve, cookie)
        clock.advance(LIFETIME_SECONDS - 1)
        last = await page.ask({"type": "list"})

        clock.advance(1)
        await page.send({"type": "list"})

        assert last["type"] == "conversations"
        assert await rest_of(page) == LOGGED_OUT
        assert not await agents.sees_the_panel(eve, cookie)


class TestAnotherProcess:
    """Tests of a session that another process ended. This server gets no request and no message about the end."""

    @pytest.mark.usefixtures("seldom")
    @ENDS
    @pytest.mark.parametrize("asks", ["list", "thread", "answer", "accept", "end"])
    @pytest.mark.contract("D-21/sessions")
    async def test_frames_sent_after_the_session_ended_are_refused_and_not_carried_out(
        self, end: Act, asks: str, eve: Fixture, agents: Fixture, people: Fixture
    ) -> None:
        page = await agents.page(eve)
        await people.call()
        conversation = (await page.next())["conversation"]
        await end()

        await page.send(
            {
                "list": {"type": "list"},
                "thread": {"type": "thread", "conversation": conversation},
                "answer": {"type": "answer", "conversation": conversation, "id": "a1", "body": "I am still here"},
                "accept": {"type": "call", "conversation": conversation, "action": "accept"},
                "end": {"type": "call", "conversation": conversation, "action": "end"},
            }[asks]
        )

        assert await rest_of(page) == LOGGED_OUT
        assert await people.read() == []
        assert await Call.select(Call.state) == [{"state": "ringing"}]

    @pytest.mark.usefixtures("often")
    @ENDS
    @pytest.mark.contract("D-21/sessions")
    async def test_a_listening_page_ends_within_a_second_of_its_session(
        self, end: Act, eve: Fixture, agents: Fixture, make_agent: Fixture, people: Fixture
    ) -> None:
        await make_agent("adam")
        page, other = await agents.page(eve), await agents.page(eve, "adam")

        await end()

        assert await rest_of(page) == LOGGED_OUT
        await people.write()
        assert (await other.next())["message"]["body"] == "hello"

    async def test_sessions_are_checked_every_second(self) -> None:
        assert watch.CHECK_SECONDS == 1

    @pytest.mark.usefixtures("often")
    async def test_a_sign_out_at_a_second_server_ends_the_pages_of_the_first(
        self, eve: Fixture, make_client: Fixture, agents: Fixture
    ) -> None:
        async with make_client() as second:
            cookie, stays = await agents.sign_in(second), await agents.sign_in(second)
            page, other = await agents.page_with(eve, cookie), await agents.page_with(eve, stays)

            await agents.sign_out(second, cookie)

            assert await rest_of(page) == LOGGED_OUT
            assert (await other.ask({"type": "list"}))["type"] == "conversations"
            assert not await agents.sees_the_panel(eve, cookie)

    @pytest.mark.usefixtures("seldom")
    async def test_with_redis_a_sign_out_at_a_second_server_ends_pages_at_once(
        self, make_client: Fixture, make_agent: Fixture, agents: Fixture, redis_url: str
    ) -> None:
        async with make_client(redis_url=redis_url) as first, make_client(redis_url=redis_url) as second:
            await make_agent("eve")
            cookie = await agents.sign_in(second)
            page = await agents.page_with(first, cookie)

            await agents.sign_out(second, cookie)

            told = [frame for frame in await rest_of(page) if frame[0] != "missed"]  # sent once the link opens
            assert told == LOGGED_OUT

    @pytest.mark.usefixtures("often")
    @pytest.mark.parametrize(
        ("failure", "code"),
        [(Refused(Code.UNAVAILABLE, "The database is away."), "unavailable"), (ZeroDivisionError(), "internal")],
    )
    async def test_pages_end_if_the_session_cannot_be_checked(
        self,
        failure: Exception,
        code: str,
        eve: Fixture,
        agents: Fixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        page = await agents.page(eve)

        async def fail(*_: object) -> None:
            raise failure

        monkeypatch.setattr(agent_sessions, "standing", fail)

        assert await rest_of(page) == [("error", code), ("closed", Close.TRY_LATER)]

    async def test_the_check_stops_after_the_last_page(self, eve: Fixture, agents: Fixture) -> None:
        page = await agents.page(eve)
        looking = [task for task in asyncio.all_tasks() if "Watch" in repr(task.get_coro())]

        with capture_logs() as told:
            await page.leave()

        assert [task.done() for task in looking] == [True]
        assert told == []


class TestTheLabsAgent:
    async def test_a_session_of_the_lab_is_only_valid_on_a_server_with_the_lab(
        self, make_client: Fixture, agents: Fixture
    ) -> None:
        async with make_client(lab=True) as lab, make_client() as live:
            answer = await lab.post("/agent/lab", headers={"Origin": "http://localhost:8800"})
            cookie = answer.headers["set-cookie"].partition(";")[0]

            page = await agents.page_with(lab, cookie, "lab agent")

            assert (await page.ask({"type": "list"}))["type"] == "conversations"
            assert not await agents.sees_the_panel(live, cookie)
            assert await rest_of(await agents.socket(live, cookie)) == LOGGED_OUT


async def test_a_change_of_businesses_ends_the_sockets_but_not_the_session(eve: Fixture, agents: Fixture) -> None:
    cookie = await agents.sign_in(eve)
    page = await agents.page_with(eve, cookie)

    await limit_eve()
    await page.send({"type": "list"})

    assert await rest_of(page) == LOGGED_OUT
    again = await agents.page_with(eve, cookie)
    assert (await again.ask({"type": "list"}))["items"] == []
