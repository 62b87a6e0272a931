"""The hub: what is published on a channel reaches its listeners, here and, with Redis, in other processes."""

from __future__ import annotations

import asyncio
import sys

import pytest
from redis import Redis

from chatkey_server.chat.hub import Hub
from chatkey_server.settings import SettingsError
from chatkey_stack.patience import PATIENCE


class Inbox:
    """What a listener heard."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.take = self._queue.put_nowait

    async def next(self) -> bytes:
        return await asyncio.wait_for(self._queue.get(), PATIENCE)

    @property
    def waiting(self) -> int:
        return self._queue.qsize()


async def test_a_payload_reaches_every_listener_of_its_channel_in_order() -> None:
    hub, one, two, other = Hub(), Inbox(), Inbox(), Inbox()
    async with hub.running():
        with hub.listen("a", one.take), hub.listen("a", two.take), hub.listen("b", other.take):
            for number in range(3):
                hub.publish("a", b"%d\nwith a line" % number)

            assert [await one.next() for _ in range(3)] == [b"%d\nwith a line" % n for n in range(3)]
            assert [await two.next() for _ in range(3)] == [b"%d\nwith a line" % n for n in range(3)]
    assert other.waiting == 0


async def test_who_has_left_hears_nothing_and_is_forgotten() -> None:
    hub, left, stays = Hub(), Inbox(), Inbox()
    async with hub.running():
        with hub.listen("a", left.take):
            pass
        with hub.listen("a", stays.take):
            hub.publish("a", b"hello")
            await stays.next()

    assert left.waiting == 0
    assert not hub._listeners


async def test_a_channel_may_be_named_in_any_script() -> None:
    hub, inbox = Hub(), Inbox()
    async with hub.running():
        with hub.listen("customer:prov:custom:زبون", inbox.take):
            hub.publish("customer:prov:custom:زبون", b"x")

            assert await inbox.next() == b"x"


@pytest.mark.contract("D-15/redis")
async def test_through_redis_it_reaches_another_process_and_ones_own(redis_url: str) -> None:
    here, there, own, other = Hub(redis_url), Hub(redis_url), Inbox(), Inbox()
    async with here.running(), there.running():
        with here.listen("a", own.take), there.listen("a", other.take):
            here.publish("a", b"hello")

            assert await own.next() == b"hello"
            assert await other.next() == b"hello"


async def test_a_connection_that_redis_cuts_is_made_again(
    redis_server: Redis, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatkey_server.chat.redis_backend.RETRY_SECONDS", 0.01)
    hub, inbox = Hub(redis_url), Inbox()
    async with hub.running():
        with hub.listen("a", inbox.take):
            redis_server.client_kill_filter(_type="pubsub")

            async def publish_until_heard() -> None:
                while not inbox.waiting:
                    hub.publish("a", b"hello")
                    await asyncio.sleep(0.01)

            await asyncio.wait_for(publish_until_heard(), PATIENCE)
            assert await inbox.next() == b"hello"


def test_without_the_redis_package_the_setting_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chatkey_server.chat.redis_backend", None)

    with pytest.raises(
        SettingsError, match=r"CHATKEY_REDIS_URL needs the redis package: pip install 'chatkey\[redis\]'"
    ):
        Hub("redis://localhost:1")
