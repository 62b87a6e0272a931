"""A chat on a real database, with a hub whose deliveries can be waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from chatkey_server.chat.events import AGENTS, customer_channel, read_event
from chatkey_server.chat.hub import Hub
from chatkey_server.chat.service import Chat
from chatkey_server.identity.tokens import Profile, SocketIdentity
from chatkey_server.limits.rates import Rates
from chatkey_server.settings import Limits
from chatkey_server.storage.engine import Database

NOW = 1_800_000_000.0


class Time:
    """A time that a test moves."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


class Heard:
    """What was published on a channel, in order, with its source."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()

    def take(self, payload: bytes) -> None:
        self._queue.put_nowait(payload)

    async def next(self) -> tuple[dict[str, Any], str]:
        event = read_event(await asyncio.wait_for(self._queue.get(), 5))
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


@pytest.fixture
def listen(hub: Hub, request: pytest.FixtureRequest) -> Callable[..., Heard]:
    """Listen to a person's channel, or without one to that of the agents, until the test ends."""

    def start(person: SocketIdentity | None = None) -> Heard:
        heard = Heard()
        channel = AGENTS if person is None else customer_channel(person.pid, person.login, person.uid)
        listening = hub.listen(channel, heard.take)
        listening.__enter__()
        request.addfinalizer(lambda: listening.__exit__(None, None, None))
        return heard

    return start
