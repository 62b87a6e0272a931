"""Fixtures: a chat on a real database, and a hub whose deliveries a test can await."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from chatkey_server.chat.events import AGENTS, ALL_PAGES, customer_channel, read_event
from chatkey_server.chat.hub import Hub
from chatkey_server.chat.service import Chat
from chatkey_server.identity.tokens import Profile, SocketIdentity
from chatkey_server.limits.rates import Rates
from chatkey_server.settings import Limits
from chatkey_server.storage import agent_sessions
from chatkey_server.storage.agent_sessions import SignedIn
from chatkey_server.storage.engine import Database
from chatkey_server.storage.tables import Agent, AgentProvider, Provider
from chatkey_stack.patience import PATIENCE

NOW = 1_800_000_000.0


class Time:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


class Heard:
    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()

    def take(self, payload: bytes) -> None:
        self._queue.put_nowait(payload)

    async def next(self) -> tuple[dict[str, Any], str]:
        event = read_event(await asyncio.wait_for(self._queue.get(), PATIENCE))
        return msgspec.json.decode(event.frame), event.source

    @property
    def waiting(self) -> int:
        return self._queue.qsize()


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    made = Hub()
    async with made.running():
        yield made


@pytest.fixture
def limits() -> Limits:
    return Limits(message_chars=100, name_chars=20)


@pytest.fixture
def chat(database: Database, hub: Hub, time: Time, limits: Limits) -> Chat:
    return Chat(hub, limits, Rates(limits, time), now=time)


MakePerson = Callable[..., SocketIdentity]


@pytest.fixture
def make_person() -> MakePerson:
    def make(uid: str = "ann", *, login: Any = "custom", pid: str = "prov", **profile: str) -> SocketIdentity:
        return SocketIdentity(pid, uid, login, "jkt", int(NOW) + 3600, Profile(**profile))

    return make


@pytest.fixture
def ann(make_person: MakePerson) -> SocketIdentity:
    return make_person("ann", name="Ann", email="ann@shop.test")


MakeAgent = Callable[..., Awaitable[SignedIn]]


@pytest.fixture
def make_agent(database: Database) -> MakeAgent:
    """Sign in an agent for the given providers, which are created if needed.

    Without providers, the agent serves all of them.
    """

    async def make(name: str = "eve", providers: tuple[str, ...] | None = None) -> SignedIn:
        agent = Agent(username=name, password_hash="", all_providers=providers is None)
        await Agent.insert(agent)
        for provider in providers or ():
            row = Provider(id=provider, name=provider, sealed_secret_key="", created_at=0, updated_at=0)
            await Provider.insert(row).on_conflict(target=Provider.id, action="DO NOTHING")
            await AgentProvider.insert(AgentProvider(agent=agent.id, provider=provider))
        signed_in = await agent_sessions.of_token(await agent_sessions.begin(agent, NOW) or "", NOW)
        assert signed_in is not None
        return signed_in

    return make


@pytest.fixture
async def eve(make_agent: MakeAgent) -> SignedIn:
    """A signed-in agent for all businesses."""
    return await make_agent()


@pytest.fixture
def listen(hub: Hub, request: pytest.FixtureRequest) -> Callable[..., Heard]:
    """Listen until the test ends: to a person's channel, or to the channels of an agent for all businesses."""

    def start(person: SocketIdentity | None = None) -> Heard:
        heard = Heard()
        own = [] if person is None else [customer_channel(person.pid, person.login, person.uid)]
        for channel in own or (AGENTS, ALL_PAGES):
            hub.add(channel, heard.take)
            request.addfinalizer(partial(hub.remove, channel, heard.take))
        return heard

    return start
