"""The hub's link through Redis: its publish/subscribe, with a beat by which a process knows that it hears (D-15)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import structlog
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from chatkey_server.chat.freshness import Freshness, News
from chatkey_server.chat.hub import MISSED, Hear, Join
from chatkey_server.chat.messages import BEATS, Message, by_channel, decode, encode
from chatkey_server.chat.outage import Silent, reasons_of
from chatkey_server.chat.seal import Seal
from chatkey_server.chat.subscriptions import Subscriptions
from chatkey_server.metrics import FAN_OUT, HUB_CONNECTED

if TYPE_CHECKING:
    from redis.asyncio.client import PubSub

BEAT_SECONDS: Final = 1.0
SILENT_BEATS: Final = 4
"""After so many beats that were not heard the connection is given up, and so is another process."""
LONGEST_WAIT: Final = 1.0
"""Seconds between two tries to connect, at most; the first comes after an eighth of a beat."""
MOST_DOUBLINGS: Final = 10
CONNECT_SECONDS: Final = 2.0
"""How long a connection may take to open; redis-py waits as long for one to close that is cancelled while it sends."""
CLOSING_SECONDS: Final = 0.5
MOST_UNSAID: Final = 20_000
"""Payloads that may wait for a Redis that takes nothing; with one more the connection is given up."""
AT_ONCE: Final = 1000
"""Payloads that are sent together."""

log = structlog.get_logger("chatkey.hub")


class Heard(NamedTuple):
    """When somebody was heard last: at which time of the loop, and at which beat of this process."""

    at: float
    beat: int


class RedisLink:
    """Says and hears while Redis is there, and knows when it did not.

    A process hears its own beat, once a second: so saying, Redis and hearing work. When it has not for `SILENT_BEATS`,
    or a connection fails, it connects anew. Once it hears itself again it publishes `MISSED`: the others may have
    missed what it said meanwhile, and it may have missed what they said. When a process falls silent, the others assume
    that its last words were not told. What is replayed has no effect, see `Freshness`; what may have been
    replayed, because its session has not proved yet that it is live, is looked up in the database.
    """

    def __init__(self, url: str, keys: Sequence[bytes], *, beat: float = BEAT_SECONDS) -> None:
        self._url = url
        self._seal = Seal(keys)
        self._subscriptions = Subscriptions(self._seal)
        self._beats_on = self._seal.names(BEATS)
        self._beat = beat
        self._silence = beat * SILENT_BEATS
        self._freshness = Freshness(self._seal.session)
        self._unsaid: list[tuple[str, bytes]] = []
        self._is_due = asyncio.Event()
        self._hears_itself = asyncio.Event()
        self._is_over = False
        self._is_lost = False
        self._is_refusing = False
        self._is_beat_due = False
        self._said_at = 0.0
        self._beats = 0
        self._heard = Heard(0.0, 0)
        self._others: dict[bytes, Heard] = {}
        self._unproven: dict[bytes, Heard] = {}

    @asynccontextmanager
    async def running(self, hear: Hear, joined: Join) -> AsyncIterator[None]:
        """Stay connected while the context lasts; it begins once the process hears itself, or Redis is silent."""
        self._hear = hear
        self._joined = joined
        self._heard = self._now()
        self._is_over = False
        staying = asyncio.create_task(self._stay())
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hears_itself.wait(), self._silence)
        try:
            yield
        finally:
            self._is_over = True  # said as well, because an error on the way out goes before the cancelling
            staying.cancel()
            await asyncio.wait([staying], timeout=CONNECT_SECONDS + 2 * CLOSING_SECONDS)  # whatever Redis does

    def say(self, channel: str, payload: bytes) -> None:
        """Send to every other process; while Redis is away they learn of it from the database, when it is back."""
        if not self._hears_itself.is_set():
            self._is_lost = True
        elif len(self._unsaid) < MOST_UNSAID:
            self._unsaid.append((channel, payload))
            self._is_due.set()

    @property
    def is_connected(self) -> bool:
        """Whether the process hears itself."""
        return self._hears_itself.is_set()

    def want(self, channel: str) -> None:
        """Hear what others say on a channel, as soon as Redis has heard of the wish."""
        self._subscriptions.want(channel)

    def leave(self, channel: str) -> None:
        """Hear a channel no longer."""
        self._subscriptions.leave(channel)

    async def announce(self, *news: tuple[str, bytes]) -> None:
        """Send by itself, and wait until Redis has it. Raises `RedisError` or `OSError`."""
        async with self._opened() as redis, asyncio.timeout(self._silence):
            await redis.ping()
            await self._publish(redis, by_channel(news, [], []))

    async def _stay(self) -> None:
        tries = 0
        while not self._is_over:
            try:
                await self._connect()
            except Exception as error:  # noqa: BLE001 - whatever it is, the way out is a new connection
                tries = 1 if self._hears_itself.is_set() else min(tries + 1, MOST_DOUBLINGS)
                self._lost(error)
            wait = min(LONGEST_WAIT, self._beat * 2**tries / 16)
            await asyncio.sleep(wait * random.uniform(0.5, 1))  # noqa: S311 - no secret

    async def _connect(self) -> None:
        """Say and hear until the connection fails, which raises."""
        async with self._opened() as redis:
            hearing = redis.pubsub()
            try:
                self._subscriptions.begin()
                async with asyncio.timeout(self._silence):
                    await self._subscribe(hearing)
                    await hearing.subscribe(*self._beats_on)  # the last: who hears a beat hears all that is wanted
                self._connected()
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._listen(hearing))
                    tasks.create_task(self._attend(hearing))
                    tasks.create_task(self._speak(redis))
                    tasks.create_task(self._watch())
            finally:
                with suppress(RedisError, OSError):
                    async with asyncio.timeout(CLOSING_SECONDS):
                        await hearing.aclose()  # type: ignore[no-untyped-call]  # redis-py leaves it out

    def _connected(self) -> None:
        """Give everybody, oneself too, the time of a new connection to be heard."""
        self._is_refusing = False
        self._heard = self._heard._replace(beat=self._beats)
        self._others = {session: heard._replace(beat=self._beats) for session, heard in self._others.items()}

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Redis]:
        # Without tries of its own: a connection that is made again in silence has missed what was said meanwhile.
        redis = Redis.from_url(
            self._url, protocol=2, retry=Retry(NoBackoff(), 0), socket_connect_timeout=CONNECT_SECONDS
        )
        try:
            yield redis
        finally:
            with suppress(RedisError, OSError):
                async with asyncio.timeout(CLOSING_SECONDS):
                    await redis.aclose()

    async def _attend(self, hearing: PubSub) -> None:
        """Listen to what is wanted, and to nothing else."""
        while True:
            await self._subscriptions.is_due.wait()
            await self._subscribe(hearing)

    async def _subscribe(self, hearing: PubSub) -> None:
        leave, join = self._subscriptions.changes()
        for names in leave:
            await hearing.unsubscribe(*names)
        for names in join:
            await hearing.subscribe(*names)

    async def _listen(self, hearing: PubSub) -> None:
        while True:
            message: dict[str, Any] | None = await hearing.get_message(timeout=None)
            if message is None:  # so redis-py passes on that the system has given the connection up, again and again
                raise Silent("the connection is no more")
            if message["type"] == "message":
                self._take(message["data"])
            elif message["type"] == "subscribe":
                self._confirm(message["channel"].decode())
            await asyncio.sleep(0)  # however much has come at once, others have their turn

    def _confirm(self, name: str) -> None:
        if name == self._beats_on[-1]:
            self._beat_now()
        elif channel := self._subscriptions.confirm(name):
            self._joined(channel)

    def _take(self, sealed: bytes) -> None:
        """Hand on what a process of this deployment said; whatever else comes is passed over."""
        said = self._seal.open(sealed)
        try:
            message = None if said is None else decode(said.payload)
        except msgspec.MsgspecError:
            message = None
        if said is None or message is None:
            self._refuse("what is published on the channel was not made with the master key")
            return
        news = self._freshness.judge(said, message, self._beats)
        if news is News.REPLAYED:
            self._refuse("what is published on the channel was published before")
        elif news is News.UNPROVEN and message.payloads:
            self._unproven.setdefault(said.session, self._now())
        elif news is News.FRESH:
            self._hear_fresh(said.session, message)
        if self._freshness.is_due:
            self._freshness.is_due = False
            self._beat_now()

    def _hear_fresh(self, session: bytes, message: Message) -> None:
        if session == self._seal.session:
            self._heard_itself()
            return
        if self._freshness.trusts(session):
            self._others[session] = self._now()
        if self._unproven.pop(session, None):
            self._hear(MISSED, b"")
        for payload in message.payloads:
            self._hear(message.channel, payload)

    def _refuse(self, reason: str) -> None:
        if not self._is_refusing:
            self._is_refusing = True
            log.warning("hub.refused", reason=reason)

    def _heard_itself(self) -> None:
        before, self._heard = self._heard, self._now()
        FAN_OUT.observe(self._heard.at - self._said_at)
        if self._hears_itself.is_set():
            return
        self._hears_itself.set()
        HUB_CONNECTED.set(1)
        if self._is_lost:
            self._is_lost = False
            log.warning("hub.back", seconds=round(self._heard.at - before.at, 1))
            self._hear(MISSED, b"")
            self.say(MISSED, b"")

    async def _speak(self, redis: Redis) -> None:
        """Publish what is to be said, all of it at once, and a beat when it is time for one."""
        while True:
            await self._is_due.wait()
            self._is_due.clear()
            said, self._unsaid = self._unsaid[:AT_ONCE], self._unsaid[AT_ONCE:]
            if self._unsaid:
                self._is_due.set()
            asks, answers = self._freshness.asks, self._freshness.answers
            messages = by_channel(said, asks, answers)
            if self._is_beat_due:
                self._is_beat_due = False
                self._said_at = self._now().at
                messages.append(Message(BEATS, [], asks, answers))
            await self._publish(redis, messages)

    async def _publish(self, redis: Redis, messages: Sequence[Message]) -> None:
        """Publish in one way there and back, however many channels it is for."""
        async with redis.pipeline(transaction=False) as sending:
            for message in messages:
                sending.publish(self._seal.names(message.channel)[0], self._seal.close(encode(message)))
            await sending.execute()

    def _beat_now(self) -> None:
        self._is_beat_due = True
        self._is_due.set()

    async def _watch(self) -> None:
        """Have the heart beat, and look who falls silent; raises when it is this process itself."""
        while True:
            await asyncio.sleep(self._beat)
            self._beats += 1  # counted, because a process that was stopped for a while has heard nothing either
            self._beat_now()
            if self._is_silent(self._heard):
                raise Silent(f"nothing was heard for {SILENT_BEATS} beats")
            if len(self._unsaid) >= MOST_UNSAID:
                raise Silent(f"{MOST_UNSAID} payloads wait")
            self._freshness.forget(self._beats - SILENT_BEATS)
            for heard_of in (self._others, self._unproven):
                for session in [session for session, heard in heard_of.items() if self._is_silent(heard)]:
                    del heard_of[session]
                    self._hear(MISSED, b"")

    def _is_silent(self, heard: Heard) -> bool:
        return self._beats - heard.beat > SILENT_BEATS

    def _now(self) -> Heard:
        return Heard(asyncio.get_running_loop().time(), self._beats)

    def _lost(self, error: Exception) -> None:
        self._hears_itself.clear()
        HUB_CONNECTED.set(0)
        self._subscriptions.lose()
        self._unsaid.clear()
        if not self._is_lost:
            self._is_lost = True
            log.warning("hub.lost", reason=reasons_of(error))
