"""The people who sign in here, agents and administrators, and their passwords."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage import accounts, agents, engine, passwords
from chatkey_server.storage.tables import Administrator, AdminSession, Agent

PASSWORD = "correct horse"
SOON = datetime(2100, 1, 1)  # noqa: DTZ001 - Piccolo's sessions are without a time zone

Act = Callable[[str], Awaitable[None]]


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash in a millisecond."""
    monkeypatch.setattr(passwords, "N", 2**4)
    monkeypatch.setattr(passwords, "P", 1)


async def test_an_agent_signs_in_with_the_password_and_no_other(database: engine.Database) -> None:
    await agents.add_agent("ada", PASSWORD)

    agent = await agents.check_agent("ada", PASSWORD)

    assert agent is not None
    assert agent.username == "ada"
    assert await agents.check_agent("ada", PASSWORD + " ") is None
    assert await agents.check_agent("ada", "") is None
    assert await agents.check_agent("bob", PASSWORD) is None
    assert await agents.check_agent("ada\0", PASSWORD) is None


async def test_a_name_is_taken_once(database: engine.Database) -> None:
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
async def test_an_agent_that_cannot_be_is_refused(username: str, password: str, member: str, sqlite_url: str) -> None:
    async with engine.opened(sqlite_url):
        with pytest.raises(Refused) as refused:
            await agents.add_agent(username, password)

        assert (refused.value.code, refused.value.member) == (Code.PARAMETER_INVALID, member)
        assert await Agent.count() == 0


def test_what_is_stored_of_a_password_is_salted_and_carries_its_costs() -> None:
    one, two = passwords.hash_password(PASSWORD), passwords.hash_password(PASSWORD)

    assert one != two
    assert one.startswith("scrypt$16$8$1$")
    assert PASSWORD not in one
    assert passwords.verify_password(PASSWORD, one)


def test_a_password_stays_good_when_the_costs_change(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = passwords.hash_password(PASSWORD)

    monkeypatch.setattr(passwords, "N", 2**5)

    assert passwords.verify_password(PASSWORD, stored)


def test_the_hash_of_a_real_password_fits_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    assert len(passwords.hash_password("p" * 1024)) <= 255


async def test_an_administrators_new_password_and_removal_end_their_sessions(database: engine.Database) -> None:
    def session(owner: int, token: str) -> AdminSession:
        return AdminSession(user_id=owner, token=token, expiry_date=SOON, max_expiry_date=SOON)

    await accounts.add(Administrator, "ada", PASSWORD)
    await accounts.add(Administrator, "bob", PASSWORD)
    ada, bob = [row["id"] for row in await Administrator.select(Administrator.id).order_by(Administrator.username)]
    await AdminSession.insert(session(ada, "a"), session(bob, "b"))

    await accounts.set_password("ada", "another horse")
    left = await AdminSession.select(AdminSession.token)
    await accounts.remove("bob")

    assert left == [{"token": "b"}]
    assert await AdminSession.count() == 0
    assert await accounts.check(Administrator, "ada", "another horse") is not None
    assert await accounts.check(Administrator, "ada", PASSWORD) is None
    assert await accounts.check(Administrator, "bob", PASSWORD) is None


async def test_agents_and_administrators_are_not_each_other(database: engine.Database) -> None:
    await accounts.add(Administrator, "ada", PASSWORD)
    await agents.add_agent("ada", "the agents password")

    assert await agents.check_agent("ada", PASSWORD) is None
    assert await accounts.check(Administrator, "ada", "the agents password") is None
    assert await accounts.check(Administrator, "ada", PASSWORD) is not None


@pytest.mark.parametrize("act", [accounts.remove, partial(accounts.set_password, password=PASSWORD)])
async def test_who_is_no_administrator_cannot_be_changed(act: Act, sqlite_url: str) -> None:
    async with engine.opened(sqlite_url):
        with pytest.raises(Refused, match="'ada' is no administrator") as refused:
            await act("ada")

    assert (refused.value.code, refused.value.member) == (Code.PARAMETER_INVALID, "username")
