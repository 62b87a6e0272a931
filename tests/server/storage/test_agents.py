"""Tests of the accounts and passwords of agents and administrators."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage import accounts, admin, agent_sessions, agents, engine, passwords
from chatkey_server.storage.agent_sessions import LIFETIME_SECONDS, SignedIn
from chatkey_server.storage.tables import Administrator, AdminSession, Agent, AgentProvider, AgentSession, Provider

PASSWORD = "correct horse"
SOON = datetime(2100, 1, 1)  # noqa: DTZ001 - Piccolo's sessions are without a time zone

NOW = 1_800_000_000.5

Act = Callable[[type[Agent] | type[Administrator], str], Awaitable[None]]


async def add_provider(name: str) -> None:
    await Provider.insert(Provider(id=name, name=name, sealed_secret_key="", created_at=0, updated_at=0))


async def sign_in(username: str) -> str:
    await agents.add_agent(username, PASSWORD)
    return await sign_in_again(username)


async def sign_in_again(username: str) -> str:
    agent = await agents.check_agent(username, PASSWORD)
    assert agent is not None
    token = await agent_sessions.begin(agent, NOW)
    assert token is not None
    return token


async def signed_in(token: str, now: float = NOW) -> SignedIn:
    found = await agent_sessions.of_token(token, now)
    assert found is not None
    return found


async def test_an_agent_signs_in_with_the_password_and_no_other(database: engine.Database) -> None:
    await agents.add_agent("ada", PASSWORD)

    agent = await agents.check_agent("ada", PASSWORD)

    assert agent is not None
    assert agent.username == "ada"
    assert await agents.check_agent("ada", PASSWORD + " ") is None
    assert await agents.check_agent("ada", "") is None
    assert await agents.check_agent("bob", PASSWORD) is None
    assert await agents.check_agent("ada\0", PASSWORD) is None


async def test_a_taken_name_is_refused(database: engine.Database) -> None:
    await agents.add_agent("ada", PASSWORD)

    with pytest.raises(Refused, match="'ada' is taken") as refused:
        await agents.add_agent("ada", "another one")

    assert (refused.value.code, refused.value.member) == (Code.PARAMETER_INVALID, "username")
    assert await agents.check_agent("ada", PASSWORD) is not None


@pytest.mark.parametrize(
    ("username", "password", "member"),
    [
        ("", PASSWORD, "username"),
        ("a b", PASSWORD, "username"),
        ("a" * 65, PASSWORD, "username"),
        ("ada\n", PASSWORD, "username"),
        ("ada", "seven77", "password"),
        ("ada", "p" * 1025, "password"),
    ],
)
async def test_an_impossible_agent_is_refused(username: str, password: str, member: str, sqlite_url: str) -> None:
    async with engine.opened(sqlite_url):
        with pytest.raises(Refused) as refused:
            await agents.add_agent(username, password)

        assert (refused.value.code, refused.value.member) == (Code.PARAMETER_INVALID, member)
        assert await Agent.count() == 0


def test_a_stored_password_is_salted_and_contains_its_costs() -> None:
    one, two = passwords.hash_password(PASSWORD), passwords.hash_password(PASSWORD)

    assert one != two
    assert one.startswith("scrypt$16$8$1$")
    assert PASSWORD not in one
    assert passwords.verify_password(PASSWORD, one)


def test_a_password_stays_valid_when_the_costs_change(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = passwords.hash_password(PASSWORD)

    monkeypatch.setattr(passwords, "N", 2**5)

    assert passwords.verify_password(PASSWORD, stored)


def test_the_default_costs_are_as_documented_and_the_hash_fits_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    stored = passwords.hash_password("p" * 1024)

    assert stored.startswith("scrypt$16384$8$5$")
    assert len(stored) <= 255


async def test_an_administrators_new_password_and_removal_end_their_sessions(database: engine.Database) -> None:
    def session(owner: int, token: str) -> AdminSession:
        return AdminSession(user_id=owner, token=token, expiry_date=SOON, max_expiry_date=SOON)

    await accounts.add(Administrator, "ada", PASSWORD)
    await accounts.add(Administrator, "bob", PASSWORD)
    ada, bob = [row["id"] for row in await Administrator.select(Administrator.id).order_by(Administrator.username)]
    await AdminSession.insert(session(ada, "a"), session(bob, "b"))

    await accounts.set_password(Administrator, "ada", "another horse")
    left = await AdminSession.select(AdminSession.token)
    await accounts.remove(Administrator, "bob")

    assert left == [{"token": "b"}]
    assert await AdminSession.count() == 0
    assert await accounts.check(Administrator, "ada", "another horse") is not None
    assert await accounts.check(Administrator, "ada", PASSWORD) is None
    assert await accounts.check(Administrator, "bob", PASSWORD) is None


async def test_agents_and_administrators_have_separate_accounts(database: engine.Database) -> None:
    await accounts.add(Administrator, "ada", PASSWORD)
    await agents.add_agent("ada", "the agents password")

    assert await agents.check_agent("ada", PASSWORD) is None
    assert await accounts.check(Administrator, "ada", "the agents password") is None
    assert await accounts.check(Administrator, "ada", PASSWORD) is not None


async def set_password(table: type[Agent | Administrator], username: str) -> None:
    await accounts.set_password(table, username, PASSWORD)


@pytest.mark.parametrize(("table", "kind"), [(Administrator, "administrator"), (Agent, "agent")])
@pytest.mark.parametrize("act", [accounts.remove, set_password])
async def test_a_missing_account_cannot_be_changed(
    act: Act, table: type[Agent | Administrator], kind: str, sqlite_url: str
) -> None:
    async with engine.opened(sqlite_url):
        with pytest.raises(Refused, match=f"'ada' is not the name of an {kind}") as refused:
            await act(table, "ada")

    assert (refused.value.code, refused.value.member) == (Code.PARAMETER_INVALID, "username")


class TestSessions:
    async def test_a_session_lasts_twelve_hours_and_is_then_forgotten(self, database: engine.Database) -> None:
        token = await sign_in("ada")

        last = await agent_sessions.of_token(token, NOW + LIFETIME_SECONDS - 1)
        over = await agent_sessions.of_token(token, NOW + LIFETIME_SECONDS)
        await agent_sessions.begin_for_lab(NOW + LIFETIME_SECONDS)

        assert last is not None
        assert (last.name, last.providers) == ("ada", None)
        assert over is None
        assert await AgentSession.count() == 1

    async def test_the_stored_id_of_a_session_does_not_open_it(self, database: engine.Database) -> None:
        token = await sign_in("ada")
        rows = await AgentSession.select(AgentSession.id)

        assert [row["id"] for row in rows] != [token]
        assert await agent_sessions.of_token(rows[0]["id"], NOW) is None

    @pytest.mark.parametrize("act", [accounts.remove, set_password])
    async def test_removal_and_a_new_password_end_every_session_of_that_agent(
        self, act: Act, database: engine.Database
    ) -> None:
        adas, bobs = [await sign_in("ada"), await sign_in_again("ada")], await sign_in("bob")

        await act(Agent, "ada")

        assert [await agent_sessions.of_token(token, NOW) for token in adas] == [None, None]
        assert await agent_sessions.of_token(bobs, NOW) is not None

    async def test_a_password_changed_between_check_and_sign_in_is_refused(self, database: engine.Database) -> None:
        await agents.add_agent("ada", PASSWORD)
        checked = await agents.check_agent("ada", PASSWORD)
        assert checked is not None
        await accounts.set_password(Agent, "ada", "another horse")

        changed = await agent_sessions.begin(checked, NOW)
        await accounts.remove(Agent, "ada")

        assert (changed, await agent_sessions.begin(checked, NOW)) == (None, None)
        assert await AgentSession.count() == 0

    async def test_a_change_of_businesses_invalidates_the_confirmation(self, database: engine.Database) -> None:
        for provider in ("shop", "bakery"):
            await add_provider(provider)
        token = await sign_in("ada")
        ada = await signed_in(token)

        await agents.set_providers("ada", ["shop"])

        with pytest.raises(Refused):
            await agent_sessions.confirm(ada, NOW)
        limited = await signed_in(token)
        await agent_sessions.confirm(limited, NOW)
        assert (limited.answers_for("shop"), limited.answers_for("bakery")) == (True, False)


class TestBusinesses:
    async def test_an_agent_answers_for_all_businesses_or_for_those_named(self, database: engine.Database) -> None:
        for provider in ("shop", "bakery"):
            await add_provider(provider)

        await agents.add_agent("ada", PASSWORD)
        await agents.add_agent("bob", PASSWORD, ["shop", "bakery", "shop"])
        await agents.add_agent("cid", PASSWORD, [])

        assert await agents.listed() == [("ada", None), ("bob", ["bakery", "shop"]), ("cid", [])]

    async def test_the_businesses_of_an_agent_can_be_changed(self, database: engine.Database) -> None:
        for provider in ("shop", "bakery"):
            await add_provider(provider)
        await agents.add_agent("ada", PASSWORD, ["shop"])

        await agents.set_providers("ada", ["bakery"])
        limited = await agents.listed()
        await agents.set_providers("ada", None)

        assert (limited, await agents.listed()) == ([("ada", ["bakery"])], [("ada", None)])
        assert await AgentProvider.count() == 0

    async def test_a_business_that_is_not_there_is_named_and_nothing_changes(self, database: engine.Database) -> None:
        await add_provider("shop")

        with pytest.raises(Refused, match="There is no provider 'shpo'") as added:
            await agents.add_agent("ada", PASSWORD, ["shop", "shpo"])
        await agents.add_agent("bob", PASSWORD, ["shop"])
        with pytest.raises(Refused) as changed:
            await agents.set_providers("bob", ["shpo"])

        assert [(r.value.code, r.value.member) for r in (added, changed)] == [(Code.PROVIDER_UNKNOWN, "provider")] * 2
        assert await agents.listed() == [("bob", ["shop"])]

    async def test_businesses_of_a_missing_agent_cannot_be_set(self, database: engine.Database) -> None:
        with pytest.raises(Refused, match="'ada' is not the name of an agent"):
            await agents.set_providers("ada", None)

    async def test_an_agent_whose_last_business_is_removed_answers_for_none(self, database: engine.Database) -> None:
        await add_provider("shop")
        await agents.add_agent("ada", PASSWORD, ["shop"])

        await admin.remove_provider("shop", now=NOW)

        assert await agents.listed() == [("ada", [])]
