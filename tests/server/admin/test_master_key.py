"""Tests of a new master key while people sign in or are signed in. First both keys are set, then only the new one."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.server.admin.conftest import BASE, PASSWORD, member_token, uid_in

from chatkey_server.settings import Settings, SettingsError
from chatkey_server.storage import accounts, admin, migrate
from chatkey_server.storage.engine import opened
from chatkey_server.storage.providers import Application
from chatkey_server.storage.reseal import SEALED, reseal
from chatkey_server.storage.tables import Agent
from chatkey_server.storage.vault import Vault

Fixture = Any

OLD, NEW = "o" * 32, "n" * 32


async def furnish(client: Fixture, p8: str) -> None:
    """Store one value of each kind that the server encrypts."""
    services = client.services
    vault, now = services.vault, services.clock()
    await admin.add_provider(vault, now=now, id="prov", domains=["shop.test"])
    await admin.set_application(vault, "prov", "google", Application("id", "google-secret"), now=now)
    apple = Application("id", team_id="TEAM", key_id="KEY", p8=p8)
    await admin.set_application(vault, "service", "apple", apple, now=now)
    await admin.set_social("prov", "google", key_source="own", now=now)


async def sign_in_begun(client: Fixture) -> str:
    """Start a social login, and return the `state` parameter."""
    answer = await client.get("/v1/public/provider/prov/oauth/google", params={"origin": "https://shop.test"})
    return str(parse_qs(urlsplit(answer.headers["location"]).query)["state"][0])


async def came_back(client: Fixture, state: str) -> str:
    """Request the callback with a provider's error, and return the page's text. The server checks the state first."""
    params = {"state": state, "error": "access_denied"}
    return str((await client.get("/v1/public/oauth/google/callback", params=params)).text)


async def agent_is_in(client: Fixture) -> bool:
    return "panel.js" in (await client.get("/agent")).text


@pytest.mark.contract("D-15/sealed", "D-15/rotation")
async def test_the_master_key_is_changed_without_losing_anything(
    make_client: Fixture, database_url: str, panel_of: Fixture, p8: str
) -> None:
    async with make_client(database_url=database_url, master_key=(OLD,)) as client:
        await furnish(client, p8)
        oldest = await member_token(client)
        await admin.rotate_secret(client.services.vault, "prov", now=client.services.clock(), overlap_seconds=3600)
        client.services.providers.forget()
        token, state, late = await member_token(client), await sign_in_begun(client), await sign_in_begun(client)
        await accounts.add(Agent, "eve", PASSWORD)
        form = {"username": "eve", "password": PASSWORD}
        await client.post("/agent/sign-in", data=form, headers={"Origin": BASE})
        await panel_of(client)
        assert await agent_is_in(client)
        cookies = client.cookies

    async with make_client(database_url=database_url, master_key=(NEW, OLD)) as client:
        client.cookies = cookies
        assert (await uid_in(client, oldest), await uid_in(client, token)) == ("ann", "ann")
        assert "oauth_denied" in await came_back(client, state)
        assert (await client.get("/admin/api/user/")).json()["username"] == "ada"
        assert await agent_is_in(client)
        assert await reseal(client.services.vault) == 4
        assert await uid_in(client, token) == "ann"

    async with make_client(database_url=database_url, master_key=(NEW,)) as client:
        client.cookies = cookies
        assert (await uid_in(client, oldest), await uid_in(client, token)) == ("ann", "ann")
        assert "state_invalid" in await came_back(client, late)
        assert await agent_is_in(client)
        assert (await client.get("/admin/api/user/")).json()["username"] == "ada"
        for table, column in SEALED:
            rows = await table.select(column.as_alias("sealed")).where(column.is_not_null())
            assert rows
            assert all(Vault([NEW]).open(row["sealed"]) for row in rows)

    async with opened(database_url):
        with pytest.raises(SettingsError, match=r"CHATKEY_MASTER_KEY \(not shown\) does not decrypt"):
            await migrate.ensure(Settings(database_url=database_url, master_key=(OLD,)))


async def test_resealing_without_the_old_key_changes_nothing(make_client: Fixture, database_url: str, p8: str) -> None:
    async with make_client(database_url=database_url, master_key=(OLD,)) as client:
        await furnish(client, p8)
        token = await member_token(client)

    async with opened(database_url):
        with pytest.raises(SettingsError, match="CHATKEY_MASTER_KEY"):
            await reseal(Vault([NEW]))

    async with make_client(database_url=database_url, master_key=(OLD,)) as client:
        assert await uid_in(client, token) == "ann"


async def test_servers_with_the_old_and_the_new_key_read_each_others_secrets(
    make_client: Fixture, database_url: str, p8: str
) -> None:
    async with make_client(database_url=database_url, master_key=(OLD, NEW)) as client:
        await furnish(client, p8)
        token, state = await member_token(client), await sign_in_begun(client)

    async with make_client(database_url=database_url, master_key=(NEW, OLD)) as client:
        assert await uid_in(client, token) == "ann"
        assert "oauth_denied" in await came_back(client, state)
        await admin.rotate_secret(client.services.vault, "prov", now=client.services.clock(), overlap_seconds=3600)
        newer = await sign_in_begun(client)

    async with make_client(database_url=database_url, master_key=(OLD, NEW)) as client:
        assert await uid_in(client, token) == "ann"
        assert "oauth_denied" in await came_back(client, newer)
