"""Fixtures for the panel: accounts, sign-ins and open pages of agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from chatkey_server.chat.service import Chat
from chatkey_server.identity.tokens import Profile, SocketIdentity
from chatkey_server.storage.passwords import hash_password
from chatkey_server.storage.tables import Agent, AgentProvider, Provider

BASE = "http://localhost:8800"
PASSWORD = "correct horse battery"

Fixture = Any


@pytest.fixture
def make_agent() -> Callable[..., Awaitable[None]]:
    """Store an agent in the running app.

    The given providers are created if needed. Without providers, the agent serves all of them.
    """

    async def make(name: str, providers: tuple[str, ...] | None = None) -> None:
        agent = Agent(username=name, password_hash=hash_password(PASSWORD), all_providers=providers is None)
        await Agent.insert(agent)
        for provider in providers or ():
            row = Provider(id=provider, name=provider, sealed_secret_key="", created_at=0, updated_at=0)
            await Provider.insert(row).on_conflict(target=Provider.id, action="DO NOTHING")
            await AgentProvider.insert(AgentProvider(agent=agent.id, provider=provider))

    return make


@pytest.fixture
async def eve(client: Fixture, make_agent: Fixture) -> Fixture:
    """A client of an app with an agent `eve`, who is not signed in."""
    await make_agent("eve")
    return client


class Agents:
    """Signs agents in over HTTP, each in a separate browser, and opens panel pages."""

    def __init__(self, open_socket: Fixture) -> None:
        self._open_socket = open_socket

    async def sign_in(self, client: Fixture, name: str = "eve", cookie: str = "") -> str:
        """Sign an agent in, and return the header with the session cookie."""
        client.cookies.clear()
        form = {"username": name, "password": PASSWORD}
        headers = {"Origin": BASE, **({"Cookie": cookie} if cookie else {})}
        answer = await client.post("/agent/sign-in", data=form, headers=headers)
        assert answer.status_code == 303, answer.text
        client.cookies.clear()
        given: str = answer.headers["set-cookie"].partition(";")[0]
        return given

    async def sign_out(self, client: Fixture, cookie: str) -> Any:
        return await client.post("/agent/sign-out", headers={"Origin": BASE, "Cookie": cookie})

    async def sees_the_panel(self, client: Fixture, cookie: str) -> bool:
        page = (await client.get("/agent", headers={"Cookie": cookie})).text
        assert ("panel.js" in page) is not ('name="password"' in page)
        return "panel.js" in page

    async def socket(self, client: Fixture, cookie: str) -> Any:
        return await self._open_socket(client, "/agent/socket", headers={"Origin": BASE, "Cookie": cookie})

    async def page(self, client: Fixture, name: str = "eve") -> Any:
        """Sign an agent in, open a panel page's WebSocket, and read `ready`."""
        return await self.page_with(client, await self.sign_in(client, name), name)

    async def page_with(self, client: Fixture, cookie: str, name: str = "eve") -> Any:
        socket = await self.socket(client, cookie)
        assert await socket.next() == {"type": "ready", "agent": name, "ice_servers": []}
        return socket


@pytest.fixture
def agents(open_socket: Fixture) -> Agents:
    return Agents(open_socket)


@pytest.fixture
async def panel(eve: Fixture, agents: Agents) -> Fixture:
    """The WebSocket of a panel page on which eve is signed in. `ready` has been read."""
    return await agents.page(eve)


class People:
    """People who write messages and make calls without widgets."""

    def __init__(self, client: Fixture) -> None:
        self.chat: Chat = client.services.chat

    async def write(self, uid: str = "ann", body: str = "hello", *, message_id: str = "m1", **who: Any) -> None:
        await self.chat.post(self.person(uid, **who), message_id, body, name=None, source="")

    async def call(self, uid: str = "ann", **who: Any) -> None:
        await self.chat.call(self.person(uid, **who), name=None, source="")

    async def read(self, uid: str = "ann", **who: Any) -> list[Any]:
        entries, _ = await self.chat.history(self.person(uid, **who), None, 50)
        return entries

    @staticmethod
    def person(uid: str, *, login: Any = "custom", provider: str = "prov") -> SocketIdentity:
        profile = Profile() if login == "visitor" else Profile(name=uid.title(), email=f"{uid}@shop.test")
        return SocketIdentity(provider, uid, login, "jkt", 2_000_000_000, profile)


@pytest.fixture
def make_people() -> Callable[[Fixture], People]:
    return People


@pytest.fixture
def people(eve: Fixture) -> People:
    return People(eve)
