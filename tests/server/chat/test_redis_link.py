"""Tests of the link through Redis: delivery, reported gaps, and protection from other programs on a shared Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.client import PubSub
from structlog.testing import capture_logs
from tests.proxy import Proxy

from chatkey_server.chat import messages, redis_link
from chatkey_server.chat.events import PROVIDERS
from chatkey_server.chat.hub import MISSED, Hub
from chatkey_server.chat.messages import BEATS, Message
from chatkey_server.chat.redis_link import SILENT_BEATS, RedisLink
from chatkey_server.chat.redis_link import Heard as Heartbeat
from chatkey_server.chat.seal import Seal
from chatkey_server.chat.subscriptions import AT_ONCE
from chatkey_stack.patience import PATIENCE

KEY = b"k" * 32
BEAT = 0.2
SILENCE = BEAT * (SILENT_BEATS + 1)

Heard = asyncio.Queue[bytes]
MakeHub = Callable[..., Awaitable["Running"]]


class Running:
    """A hub with a running link, and the messages that the hub receives."""

    def __init__(self, link: RedisLink, keys: Sequence[bytes] = (KEY,)) -> None:
        self.link, self.keys = link, keys
        self.hub = hub = Hub(link)
        self.joined: asyncio.Queue[str] = asyncio.Queue()
        self.missed: Heard = self.inbox(MISSED)
        hub.on_join(lambda channel: None if channel == MISSED else self.joined.put_nowait(channel))

    def inbox(self, channel: str = "a") -> Heard:
        """Listen to a channel. Messages of other processes arrive once Redis has confirmed the subscription."""
        heard: Heard = asyncio.Queue()
        self.hub.add(channel, heard.put_nowait)
        return heard

    def trusts(self, other: Running) -> bool:
        """Return whether the other process has proved that it is live. Without common keys, no proof is needed."""
        hear_each_other = other.keys[0] in self.keys and self.keys[0] in other.keys
        return not hear_each_other or self.link._freshness.trusts(other.link._seal.session)

    async def joined_inbox(self, channel: str = "a") -> Heard:
        """Listen to a channel, and return once messages of other processes arrive too."""
        heard = self.inbox(channel)
        assert await asyncio.wait_for(self.joined.get(), PATIENCE) == channel
        return heard


async def next_of(heard: Heard) -> bytes:
    return await asyncio.wait_for(heard.get(), PATIENCE)


async def until(holds: Callable[[], object]) -> None:
    """Poll a condition that has no event. The poll also shows that the event loop is not blocked."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(BEAT)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """A stack of contexts that stay open until the test ends."""
    async with AsyncExitStack() as opened:
        yield opened


@pytest.fixture
def make_hub(stack: AsyncExitStack, redis_url: str) -> MakeHub:
    """Start the hub of one more process, directly or through a proxy. Waits until all processes trust each other."""
    everyone: list[Running] = []

    async def make(through: Proxy | None = None, keys: tuple[bytes, ...] = (KEY,)) -> Running:
        url = redis_url if through is None else f"redis://127.0.0.1:{through.port}"
        running = Running(RedisLink(url, keys, beat=BEAT), keys)
        await stack.enter_async_context(running.hub.running())
        await until(lambda: all(one.trusts(running) and running.trusts(one) for one in everyone))
        everyone.append(running)
        return running

    return make


@asynccontextmanager
async def raw(redis_url: str) -> AsyncIterator[AsyncRedis]:
    """Open another client on the same Redis."""
    async with AsyncRedis.from_url(redis_url) as client:
        yield client


@pytest.mark.contract("D-15/redis")
async def test_a_message_reaches_every_process_once(make_hub: MakeHub) -> None:
    here, there = await make_hub(), await make_hub()
    own, other = await here.joined_inbox(), await there.joined_inbox()

    here.hub.publish("a", b"1")
    here.hub.publish("b", b"for nobody")
    here.hub.publish("a", b"2")

    assert [await next_of(other) for _ in range(2)] == [b"1", b"2"]
    assert [await next_of(own) for _ in range(2)] == [b"1", b"2"]
    there.hub.publish("a", b"back")
    assert await next_of(own) == b"back"
    assert own.empty()


async def test_messages_published_together_are_sent_together(
    make_hub: MakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All payloads that were published at the same time must travel in one Redis message."""
    sent: list[Message] = []
    publish = RedisLink._publish

    async def noted(self: RedisLink, redis: AsyncRedis, messages: Sequence[Message]) -> None:
        sent.extend(messages)
        await publish(self, redis, messages)

    monkeypatch.setattr(RedisLink, "_publish", noted)
    here, there = await make_hub(), await make_hub()
    heard = await there.joined_inbox()

    for number in range(500):
        here.hub.publish("a", b"%d" % number)

    assert [await next_of(heard) for _ in range(500)] == [b"%d" % n for n in range(500)]
    assert [len(message.payloads) for message in sent if message.channel == "a"] == [500]


async def test_a_process_receives_only_channels_with_a_listener(
    make_hub: MakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def noted(payload: bytes) -> Message:
        message = messages.decode(payload)
        read.append(message.channel)
        return message

    here, there = await make_hub(), await make_hub()
    heard = await there.joined_inbox("customer:prov:custom:ann")
    monkeypatch.setattr(redis_link, "decode", noted)

    for number in range(100):
        here.hub.publish("customer:prov:custom:bob", b"%d" % number)
    here.hub.publish("customer:prov:custom:ann", b"for somebody")

    assert await next_of(heard) == b"for somebody"
    assert [channel for channel in read if channel != BEATS] == ["customer:prov:custom:ann"]


async def test_a_channel_is_unsubscribed_after_its_last_listener_and_subscribed_for_the_next(
    make_hub: MakeHub, redis_server: Redis
) -> None:
    here, there = await make_hub(), await make_hub()
    with there.hub.listen("a", lambda _: None):
        assert await asyncio.wait_for(there.joined.get(), PATIENCE) == "a"
    marker = await there.joined_inbox("marker")  # by now Redis has processed the earlier requests

    assert redis_server.pubsub_numsub(*SEAL.names("a")) == [(SEAL.names("a")[0].encode(), 0)]
    heard = await there.joined_inbox()
    here.hub.publish("a", b"hello")
    here.hub.publish("marker", b"")
    assert (await next_of(heard), await next_of(marker)) == (b"hello", b"")


async def test_deployments_with_keys_of_their_own_hear_nothing_of_each_other(make_hub: MakeHub) -> None:
    ours, theirs = await make_hub(), await make_hub(keys=(b"t" * 32,))
    same = await make_hub()
    heard_by_ours, heard_by_theirs, heard_by_same = [await one.joined_inbox() for one in (ours, theirs, same)]

    with capture_logs() as events:
        ours.hub.publish("a", b"ours")
        theirs.hub.publish("a", b"theirs")
        theirs.hub.publish("a", b"more of theirs")
        assert await next_of(heard_by_same) == b"ours"

    assert events == []  # their messages do not arrive, so none has to be refused
    assert [await next_of(heard_by_theirs) for _ in range(2)] == [b"theirs", b"more of theirs"]
    assert (heard_by_ours.get_nowait(), heard_by_ours.empty(), heard_by_same.empty()) == (b"ours", True, True)


async def test_while_the_master_key_is_rotated_all_hear_each_other(make_hub: MakeHub) -> None:
    """The test rotates the key in three steps: the new key is second in the list, then first, then alone."""
    old, new = b"o" * 32, b"n" * 32
    for before, after in (((old,), (old, new)), ((old, new), (new, old)), ((new, old), (new,))):
        one, two = await make_hub(keys=before), await make_hub(keys=after)
        at_one, at_two = await one.joined_inbox(), await two.joined_inbox()

        one.hub.publish("a", b"from one")
        two.hub.publish("a", b"from two")

        assert {await next_of(at_one), await next_of(at_one)} == {b"from one", b"from two"}
        assert {await next_of(at_two), await next_of(at_two)} == {b"from one", b"from two"}


SEAL = Seal([KEY])
STRANGE = [
    b"",
    b"hello",
    b"\x00" * 40,
    Seal([b"t" * 32]).close(msgspec.msgpack.encode(["a", [b"forged"]])),
    SEAL.close(b"") + b"more",
    SEAL.close(b""),
    SEAL.close(b"\xc1"),
    SEAL.close(msgspec.msgpack.encode({"a": "b"})),
    SEAL.close(msgspec.msgpack.encode([1, 2, 3])),
    SEAL.close(msgspec.msgpack.encode(["a", [5]])),
    SEAL.session,
    SEAL.session + b"\x00" * 28,
]


async def test_foreign_payloads_are_refused_and_do_not_end_the_link(make_hub: MakeHub, redis_url: str) -> None:
    here, there = await make_hub(), await make_hub()
    heard = await there.joined_inbox()

    with capture_logs() as events:
        async with raw(redis_url) as client:
            for payload in STRANGE:
                await client.publish(SEAL.names("a")[0], payload)
        here.hub.publish("a", b"hello")
        assert await next_of(heard) == b"hello"

    assert heard.empty()
    assert [event["event"] for event in events] == ["hub.refused"]  # once, in the process that received it
    assert "forged" not in str(events)


@pytest.mark.contract("D-15/deaf")
async def test_after_a_cut_connection_every_process_looks_for_missed_messages(make_hub: MakeHub, proxy: Proxy) -> None:
    here, there = await make_hub(through=proxy), await make_hub()
    heard = await here.joined_inbox()

    with capture_logs() as events:
        proxy.cut()
        assert [await next_of(one.missed) for one in (here, there)] == [b"", b""]
        there.hub.publish("a", b"hello")
        assert await next_of(heard) == b"hello"

    assert [event["event"] for event in events] == ["hub.lost", "hub.back"]
    assert events[1]["seconds"] < PATIENCE


@pytest.mark.contract("D-15/deaf")
async def test_a_connection_that_falls_silent_is_given_up_and_made_again(make_hub: MakeHub, proxy: Proxy) -> None:
    """The test drops all packets. No call fails and no data is received, so only a timeout can detect the loss."""
    here, there = await make_hub(through=proxy), await make_hub()
    heard = await here.joined_inbox()
    before = proxy.connections

    with capture_logs() as events:
        proxy.silence()
        await until(lambda: events)
        here.hub.publish("a", b"said while nobody hears")
        proxy.cut()
        proxy.resume()
        assert await next_of(there.missed) == b""
        await until(lambda: here.link.is_connected)
        there.hub.publish("a", b"hello")
        own = await next_of(heard)

    assert (own, await next_of(heard)) == (b"said while nobody hears", b"hello")
    assert proxy.connections > before
    assert [event["event"] for event in events] == ["hub.lost", "hub.back"]
    assert events[0]["reason"] == "Silent"
    assert events[1]["seconds"] >= round(SILENCE - BEAT, 1)


async def test_subscribing_to_many_channels_takes_as_long_as_it_takes(
    make_hub: MakeHub, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test lets each thousand channels take longer than a beat. Together they take longer than a silence."""
    here = await make_hub(through=proxy)
    for number in range(1000 * (SILENT_BEATS + 3)):
        here.hub.add(f"channel {number}", lambda _: None)
    subscribe = PubSub.subscribe

    async def slowly(self: PubSub, *names: str) -> None:
        await asyncio.sleep(1.5 * BEAT if len(names) == AT_ONCE else 0)
        await subscribe(self, *names)

    with capture_logs() as events:
        monkeypatch.setattr(PubSub, "subscribe", slowly)
        proxy.cut()
        await next_of(here.missed)

    assert [event["event"] for event in events] == ["hub.lost", "hub.back"]
    assert events[1]["seconds"] > SILENCE


@pytest.mark.parametrize(("processes", "beats"), [(2, 4), (20, 4), (40, 1), (100, 1)])
async def test_more_processes_send_heartbeats_to_each_other_less_often(
    processes: int, beats: int, redis_url: str
) -> None:
    """Up to 20 processes, others hear each beat. Above, the interval grows with the square of the number."""
    link = RedisLink(redis_url, [KEY], beat=BEAT)
    link._others = {bytes([number]): Heartbeat(0.0, 0) for number in range(processes - 1)}

    async with recording(redis_url) as recorded, Hub(link).running():
        await until(lambda: link._beats >= 4)
        heard = [channel for channel, _ in recorded if channel in names(BEATS)]

    assert beats <= len(heard) <= beats + 1


async def test_a_connection_that_the_system_gave_up_does_not_keep_the_process_busy(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """redis-py returns None for the system's ETIMEDOUT, immediately and on every call."""
    asked = 0

    async def nothing(self: PubSub, timeout: float | None = 0) -> None:  # noqa: ASYNC109 - redis-py's signature
        nonlocal asked
        asked += 1

    monkeypatch.setattr(PubSub, "get_message", nothing)
    here = Running(RedisLink(redis_url, [KEY], beat=BEAT))
    with capture_logs() as events:
        async with here.hub.running():
            monkeypatch.undo()
            await next_of(here.missed)

    assert [event["event"] for event in events] == ["hub.lost", "hub.back"]
    assert asked < 100  # once for each connection
    assert events[0]["reason"] == "Silent"


async def test_without_redis_the_process_starts_and_stops(redis_url: str) -> None:
    hub, heard = Hub(RedisLink("unix:///nowhere/redis.sock", [KEY], beat=BEAT)), asyncio.Queue[bytes]()
    hub.add("a", heard.put_nowait)

    with capture_logs() as events:
        async with hub.running():
            hub.publish("a", b"hello")

    assert heard.get_nowait() == b"hello"
    assert [event["event"] for event in events] == ["hub.lost"]


async def test_it_stops_while_redis_is_silent(make_hub: MakeHub, proxy: Proxy) -> None:
    hub = Hub(RedisLink(f"redis://127.0.0.1:{proxy.port}", [KEY], beat=60))
    async with hub.running():
        hub.publish("a", b"hello")
        proxy.silence()
        hub.publish("a", b"x" * 1_000_000)  # more than the socket's buffer takes


async def test_after_the_death_of_a_process_its_last_messages_are_looked_up(make_hub: MakeHub, redis_url: str) -> None:
    here = await make_hub()
    dying = Running(RedisLink(redis_url, [KEY], beat=BEAT))
    heard = await here.joined_inbox()
    async with dying.hub.running():
        await until(lambda: here.trusts(dying))
        dying.hub.publish("a", b"hello")
        await next_of(heard)

    assert await next_of(here.missed) == b""


async def test_an_announcement_of_a_command_does_not_count_as_a_process(make_hub: MakeHub, redis_url: str) -> None:
    here = await make_hub()
    heard = await here.joined_inbox(PROVIDERS)

    await RedisLink(redis_url, [KEY]).announce((PROVIDERS, b"prov_1"))

    assert await next_of(heard) == b"prov_1"
    assert here.link._others == here.link._unproven == {}


async def test_the_queue_for_an_unresponsive_redis_is_bounded(
    make_hub: MakeHub, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_link, "MOST_UNSAID", 10)
    here, there = await make_hub(through=proxy), await make_hub()
    proxy.silence()

    with capture_logs() as events:
        for _ in range(100):
            here.hub.publish("a", b"hello")
        assert len(here.link._unsaid) <= 10
        proxy.cut()
        proxy.resume()
        await next_of(there.missed)

    assert [event["event"] for event in events] == ["hub.lost", "hub.back"]


Recorded = list[tuple[bytes, bytes]]


@asynccontextmanager
async def recording(redis_url: str) -> AsyncIterator[Recorded]:
    """Record the channel and the sealed payload of each message on a Redis. Anyone who can connect can do this."""
    recorded: Recorded = []

    async def record(listening: PubSub) -> None:
        async for message in listening.listen():
            recorded.append((message["channel"], message["data"]))

    async with raw(redis_url) as client, client.pubsub() as listening:
        await listening.psubscribe("*")
        await listening.get_message(timeout=PATIENCE)  # wait for the subscription
        task = asyncio.create_task(record(listening))
        yield recorded
        task.cancel()


async def replay(redis_url: str, recorded: Recorded, *, onto: bytes | None = None) -> None:
    """Publish the recorded messages again, on their own channels or all on the channel `onto`."""
    async with raw(redis_url) as client:
        for channel, sealed in list(recorded):
            await client.publish(onto or channel, sealed)


@pytest.mark.contract("D-15/replay")
async def test_replayed_messages_are_ignored(make_hub: MakeHub, redis_url: str) -> None:
    """The test replays messages on their own channel, on another, and in another order. New messages must arrive."""
    here, there = await make_hub(), await make_hub()
    heard, other = await there.joined_inbox(), await there.joined_inbox("b")
    async with recording(redis_url) as recorded:
        here.hub.publish("a", b"ringing")
        here.hub.publish("b", b"a message")
        assert (await next_of(heard), await next_of(other)) == (b"ringing", b"a message")
        await until(lambda: len([channel for channel, _ in recorded if channel in names("a", "b")]) == 2)

    with capture_logs() as events:
        await replay(redis_url, recorded)
        await replay(redis_url, recorded[::-1])
        await replay(redis_url, recorded, onto=SEAL.names(BEATS)[0].encode())
        here.hub.publish("a", b"ended")
        here.hub.publish("b", b"another message")
        assert (await next_of(heard), await next_of(other)) == (b"ended", b"another message")

    assert heard.empty()
    assert other.empty()
    assert there.missed.empty()
    assert {event["reason"] for event in events} == {"a message on the channel was replayed"}


def names(*channels: str) -> set[bytes]:
    """Return the names that Redis has for these channels of the hub."""
    return {SEAL.names(channel)[0].encode() for channel in channels}


@pytest.mark.contract("D-15/replay")
async def test_a_process_ignores_messages_of_sessions_before_its_start(
    make_hub: MakeHub, redis_url: str, stack: AsyncExitStack
) -> None:
    """The old session may be over. The new process must ignore that session's messages and read the database."""
    here, gone = await make_hub(), Running(RedisLink(redis_url, [KEY], beat=BEAT))
    async with recording(redis_url) as recorded:
        async with gone.hub.running():
            heard = await here.joined_inbox()
            await until(lambda: here.trusts(gone))
            gone.hub.publish("a", b"ringing")
            here.hub.publish("a", b"ringing, too")
            assert {await next_of(heard), await next_of(heard)} == {b"ringing", b"ringing, too"}
        await until(lambda: len([channel for channel, _ in recorded if channel in names("a")]) == 2)

    later = await make_hub()
    heard_later = await later.joined_inbox()
    await replay(redis_url, recorded)
    here.hub.publish("a", b"ended")

    assert await next_of(heard_later) == b"ended"
    assert heard_later.empty()
    assert await next_of(later.missed) == b""


@pytest.mark.contract("D-15/replay")
async def test_a_replayed_announcement_of_a_command_is_ignored(make_hub: MakeHub, redis_url: str) -> None:
    here = await make_hub()
    heard = await here.joined_inbox(PROVIDERS)
    async with recording(redis_url) as recorded:
        await RedisLink(redis_url, [KEY]).announce((PROVIDERS, b"prov_1"))
        assert await next_of(heard) == b"prov_1"
        await until(lambda: [channel for channel, _ in recorded if channel in names(PROVIDERS)])

    await replay(redis_url, recorded)
    await RedisLink(redis_url, [KEY]).announce((PROVIDERS, b"prov_2"))

    assert await next_of(heard) == b"prov_2"
    assert heard.empty()


async def test_replayed_heartbeats_do_not_hide_an_outage(make_hub: MakeHub, proxy: Proxy, redis_url: str) -> None:
    async with recording(redis_url) as recorded:
        here = await make_hub(through=proxy)
        await until(lambda: recorded)

    link, heard = here.link, here.link._heard
    for _, sealed in recorded:
        link._take(sealed)

    assert link._heard == heard


async def test_messages_on_redis_are_encrypted(make_hub: MakeHub, redis_url: str) -> None:
    here, there = await make_hub(), await make_hub()
    heard = await there.joined_inbox("customer:prov:custom:ann")
    async with recording(redis_url) as recorded:
        here.hub.publish("customer:prov:custom:ann", b"my number is 555-0100")
        assert await next_of(heard) == b"my number is 555-0100"
        await until(lambda: [channel for channel, _ in recorded if channel in names("customer:prov:custom:ann")])

    wire = b"".join(channel + sealed for channel, sealed in recorded)
    assert not any(word in wire for word in (b"555", b"number", b"ann", b"prov", b"custom"))
