"""Tests of the hub. A payload must reach every listener in this process, even if another listener fails."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from chatkey_server.chat.hub import Hear, Hub, Join
from chatkey_server.chat.links import link_of
from chatkey_server.settings import SettingsError


async def test_a_payload_reaches_every_listener_of_its_channel_in_order() -> None:
    hub = Hub()
    one: list[bytes] = []
    two: list[bytes] = []
    other: list[bytes] = []
    with hub.listen("a", one.append), hub.listen("a", two.append), hub.listen("b", other.append):
        for number in range(3):
            hub.publish("a", b"%d\nwith a line" % number)

    assert one == two == [b"%d\nwith a line" % n for n in range(3)]
    assert other == []


async def test_a_listener_that_left_gets_nothing_and_is_removed() -> None:
    hub = Hub()
    left: list[bytes] = []
    stays: list[bytes] = []
    with hub.listen("a", left.append):
        pass
    with hub.listen("a", stays.append):
        hub.publish("a", b"hello")

    assert (left, stays) == ([], [b"hello"])
    assert not hub._listeners


async def test_a_channel_name_may_have_any_letters() -> None:
    hub = Hub()
    heard: list[bytes] = []
    with hub.listen("customer:prov:custom:زبون", heard.append):
        hub.publish("customer:prov:custom:زبون", b"x")

    assert heard == [b"x"]


async def test_a_failing_listener_affects_neither_other_listeners_nor_the_publisher() -> None:
    hub = Hub()
    heard: list[bytes] = []

    def fail(payload: bytes) -> None:
        raise ValueError("not what it expected")

    channel = "customer:prov:custom:ann"
    with capture_logs() as events, hub.listen(channel, fail), hub.listen(channel, heard.append):
        for payload in (b"1", b"2"):
            hub.publish(channel, payload)

    assert heard == [b"1", b"2"]
    assert [(event["event"], event["channel"]) for event in events] == [("hub.failed", "customer")] * 2


class Broken:
    def __init__(self) -> None:
        self.said: list[tuple[str, bytes]] = []
        self.wanted: list[str] = []
        self.is_connected = False
        self.processes = 1

    @asynccontextmanager
    async def running(self, hear: Hear, joined: Join) -> AsyncIterator[None]:
        yield

    def want(self, channel: str) -> None:
        self.wanted.append(channel)

    def leave(self, channel: str) -> None:
        self.wanted.remove(channel)

    def say(self, channel: str, payload: bytes) -> None:
        self.said.append((channel, payload))

    async def announce(self, *news: tuple[str, bytes]) -> None:
        raise ConnectionError


async def test_within_one_process_no_link_is_needed() -> None:
    link = Broken()
    hub = Hub(link)
    heard: list[bytes] = []
    async with hub.running():
        with hub.listen("a", heard.append):
            hub.publish("a", b"hello")

    assert heard == [b"hello"]
    assert link.said == [("a", b"hello")]


async def test_several_payloads_go_to_the_other_processes_first_and_stay_in_order() -> None:
    link = Broken()
    hub = Hub(link)
    heard: list[tuple[str, bytes]] = []
    news = [("a", b"1"), ("b", b"2"), ("a", b"3")]
    with (
        hub.listen("a", lambda payload: heard.append(("a", payload))),
        hub.listen("b", lambda payload: heard.append(("b", payload))),
    ):
        hub.publish_all(news)
        assert (link.said, heard) == (news, [])

        await asyncio.sleep(0)

    assert heard == news


def test_a_channel_is_subscribed_while_it_has_a_listener() -> None:
    link = Broken()
    hub = Hub(link)
    one: list[bytes] = []
    two: list[bytes] = []

    with hub.listen("a", one.append):
        with hub.listen("a", two.append), hub.listen("b", two.append):
            assert link.wanted == ["a", "b"]
        assert link.wanted == ["a"]
        hub.remove("b", one.append)

    assert link.wanted == []


def test_without_the_redis_package_the_setting_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chatkey_server.chat.redis_link", None)

    with pytest.raises(
        SettingsError, match=r"CHATKEY_REDIS_URL needs the redis package: pip install 'chatkey\[redis\]'"
    ):
        link_of("redis://localhost:1", [b"key"])
