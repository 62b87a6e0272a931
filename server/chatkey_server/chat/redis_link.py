"""Return counters that all processes share through Redis, or None without Redis.

Deployments with different `keys` can share a Redis.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import structlog
from redis.exceptions import RedisError

from chatkey_server.chat.freshness import Freshness, News
from chatkey_server.chat.hub import MISSED, Hear, Join
from chatkey_server.chat.messages import BEATS, Message, by_channel, decode, encode
from chatkey_server.chat.outage import Moved, Silent, reasons_of
from chatkey_server.chat.seal import Seal
from chatkey_server.chat.subscriptions import Subscriptions
from chatkey_server.metrics import FAN_OUT, HUB_CONNECTED
from chatkey_server.redis_client import CLOSING_SECONDS, opened

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from redis.asyncio.client import PubSub

BEAT_SECONDS: Final = 1.0
SILENT_BEATS: Final = 4
"""After this many missed beats, the connection is given up. The same limit applies to other processes."""
LONGEST_WAIT: Final = 1.0
"""The longest wait between two attempts to connect, in seconds. The first wait is an eighth of a beat."""
MOST_DOUBLINGS: Final = 10
SUBSCRIPTIONS_A_SECOND: Final = 250_000
"""How many channels Redis subscribes per second. After an outage, all processes share this."""
FREQUENT: Final = 20
"""Up to this many processes, each sends a heartbeat to the others at every beat. More processes send fewer, so that the
number of heartbeats that all of them receive stays the same.
"""
CONNECT_SECONDS: Final = 2.0
"""Timeout for opening a connection. redis-py also waits this long when it closes a connection that is cancelled while
it sends.
"""
MOST_UNSAID: Final = 20_000
"""How many payloads may wait if Redis accepts none. Above that, the connection is given up."""
AT_ONCE: Final = 1000
"""How many payloads are sent together."""

log = structlog.get_logger("chatkey.hub")


class Heard(NamedTuple):
    """When something was last received: the event loop's time, and the number of heartbeats sent until then."""

    at: float
    beat: int


class RedisLink:
    """Publishes and receives over Redis, and detects failures of the connection.

    A process receives a heartbeat on a channel of its own once a second, which proves that sending, Redis and receiving
    work. Before each heartbeat it writes a number, which a replica refuses, and then reads the number through a new
    connection, so that it notices if the address leads to another server by now. If no heartbeat arrives for
    `SILENT_BEATS`, or if a connection fails or is no longer the right one, the process connects again. Once the process
    receives its own heartbeat again, it publishes `MISSED`, because this process and the others may have missed
    messages. If the heartbeats of another process stop, the last messages of that process are assumed to be lost.
    Replayed messages have no effect (see `Freshness`). Messages from a session that is not trusted yet may be replays,
    so the database is read instead.
    """

    def __init__(self, url: str, keys: Sequence[bytes], *, beat: float = BEAT_SECONDS) -> None:
        self._url = url
        self._seal = Seal(keys)
        self._subscriptions = Subscriptions(self._seal)
        self._own_beats = f"beat:{self._seal.session.hex()}"
        self._own_beats_on = self._seal.names(self._own_beats)
        self._proof = self._seal.names(f"proof:{self._seal.session.hex()}")[0]
        self._proven = -1
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
        self._are_others_due = False
        self._said_at = 0.0
        self._beats = 0
        self._heard = Heard(0.0, 0)
        self._others: dict[bytes, Heard] = {}
        self._unproven: dict[bytes, Heard] = {}

    @asynccontextmanager
    async def running(self, hear: Hear, joined: Join) -> AsyncIterator[None]:
        """Stay connected while the context lasts.

        The context begins when the first heartbeat is received, or after the time of `SILENT_BEATS` heartbeats.
        """
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
            self._is_over = True  # needed as well: if an error occurs on the way out, the cancellation may be lost
            staying.cancel()
            await asyncio.wait([staying], timeout=CONNECT_SECONDS + 2 * CLOSING_SECONDS)  # in case Redis hangs

    def say(self, channel: str, payload: bytes) -> None:
        """Send a payload to every other process. After an outage, the others read the data from the database."""
        if not self._hears_itself.is_set():
            self._is_lost = True
        elif len(self._unsaid) < MOST_UNSAID:
            self._unsaid.append((channel, payload))
            self._is_due.set()

    @property
    def is_connected(self) -> bool:
        """Whether the process receives its own heartbeat."""
        return self._hears_itself.is_set()

    @property
    def processes(self) -> int:
        """The number of processes when the link last worked, with this one."""
        return 1 + len(self._others)

    def want(self, channel: str) -> None:
        self._subscriptions.want(channel)

    def leave(self, channel: str) -> None:
        self._subscriptions.leave(channel)

    async def announce(self, *news: tuple[str, bytes]) -> None:
        """Publish on a separate connection, and wait until Redis has everything. Raises `RedisError` or `OSError`."""
        async with self._opened() as redis, asyncio.timeout(self._silence):
            await self._prove(redis)
            await self._publish(redis, by_channel(news, [], []))

    async def _stay(self) -> None:
        tries = 0
        while not self._is_over:
            try:
                await self._connect()
            except Exception as error:  # noqa: BLE001 - whatever it is, the way out is a new connection
                tries = 1 if self._hears_itself.is_set() else min(tries + 1, MOST_DOUBLINGS)
                self._lost(error)
            wait = min(LONGEST_WAIT, self._beat * 2**tries / 16) * random.uniform(0.5, 1)  # noqa: S311 - no secret
            crowd = self.processes * len(self._subscriptions) / SUBSCRIPTIONS_A_SECOND
            await asyncio.sleep(wait + crowd * random.random())  # noqa: S311 - no secret

    async def _connect(self) -> None:
        """Publish and receive until the connection fails, and raise the error."""
        async with self._opened() as redis:
            hearing = redis.pubsub()
            try:
                self._subscriptions.begin()
                async with asyncio.timeout(self._silence):
                    await self._prove(redis)
                    await hearing.subscribe(*self._seal.names(BEATS))
                self._connected()
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._listen(hearing))
                    tasks.create_task(self._attend(hearing))
                    tasks.create_task(self._speak(redis))
                    tasks.create_task(self._watch())
                    tasks.create_task(self._follow())
            finally:
                with suppress(RedisError, OSError):
                    async with asyncio.timeout(CLOSING_SECONDS):
                        await hearing.aclose()  # type: ignore[no-untyped-call]  # redis-py leaves it out

    def _connected(self) -> None:
        """Restart the silence timers after a reconnect, so that every process has the full time to send a heartbeat."""
        self._is_refusing = False
        self._heard = self._heard._replace(beat=self._beats)
        self._others = {session: heard._replace(beat=self._beats) for session, heard in self._others.items()}

    def _opened(self) -> AbstractAsyncContextManager[Redis]:
        return opened(self._url, connect_within=CONNECT_SECONDS)

    async def _attend(self, hearing: PubSub) -> None:
        """Keep the subscriptions of the connection equal to the set of wanted channels."""
        await self._subscribe(hearing)
        await hearing.subscribe(*self._own_beats_on)  # subscribed last: an own heartbeat proves the others
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
            if message is None:  # redis-py returns None repeatedly if the operating system closed the connection
                raise Silent("the connection was closed")
            if message["type"] == "message":
                self._take(message["data"])
            elif message["type"] == "subscribe":
                self._confirm(message["channel"].decode())
            await asyncio.sleep(0)  # however much has arrived at once, other tasks get their turn

    def _confirm(self, name: str) -> None:
        self._heard = self._heard._replace(beat=self._beats)  # many channels take a while, and each is a sign of life
        if name == self._own_beats_on[-1]:
            self._beat_now()
        elif channel := self._subscriptions.confirm(name):
            self._joined(channel)

    def _take(self, sealed: bytes) -> None:
        """Pass on a message that a process of this deployment published. Ignore and log any other message."""
        said = self._seal.open(sealed)
        try:
            message = None if said is None else decode(said.payload)
        except msgspec.MsgspecError:
            message = None
        if said is None or message is None:
            self._refuse("a message on the channel was not sealed with this master key")
            return
        news = self._freshness.judge(said, message, self._beats)
        if news is News.REPLAYED:
            self._refuse("a message on the channel was replayed")
        elif news is News.UNPROVEN and message.payloads:
            self._unproven.setdefault(said.session, self._now())
        elif news is News.FRESH:
            self._hear_fresh(said.session, message)
        if self._freshness.is_due:
            self._freshness.is_due = False
            self._beat_now()

    def _hear_fresh(self, session: bytes, message: Message) -> None:
        if session == self._seal.session:
            if message.channel == self._own_beats:
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
        """Publish waiting messages in batches, and a heartbeat when it is due."""
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
                await self._prove(redis)
                self._said_at = self._now().at
                messages.append(Message(self._own_beats))
            if self._are_others_due:
                self._are_others_due = False
                messages.append(Message(BEATS, [], asks, answers))
            await self._publish(redis, messages)

    async def _publish(self, redis: Redis, messages: Sequence[Message]) -> None:
        """Publish all messages in one round trip, regardless of the number of channels."""
        async with redis.pipeline(transaction=False) as sending:
            for message in messages:
                sending.publish(self._seal.names(message.channel)[0], self._seal.close(encode(message)))
            await sending.execute()

    async def _prove(self, redis: Redis) -> None:
        """Write a higher number than before. A replica raises `ReadOnlyError`; publishing on it would raise nothing."""
        number = self._proven + 1
        await redis.set(self._proof, number, px=math.ceil(1000 * self._silence))
        self._proven = number

    async def _follow(self) -> None:
        """Raise `Moved` once the address leads to a server that lacks what this process writes."""
        while True:
            await asyncio.sleep(self._beat)
            number = self._proven
            # An address that leads nowhere for a moment does not make the open connection worse.
            with suppress(RedisError, OSError):
                async with asyncio.timeout(self._silence), self._opened() as anew:
                    if int(await anew.get(self._proof) or -1) < number:
                        raise Moved("the address leads to another server")

    def _beat_now(self, *, for_others: bool = True) -> None:
        self._is_beat_due = True
        self._are_others_due |= for_others
        self._is_due.set()

    @property
    def _others_every(self) -> int:
        """How many beats pass between two heartbeats for the other processes."""
        return math.ceil((self.processes / FREQUENT) ** 2)

    async def _watch(self) -> None:
        """Send heartbeats, and detect processes that stopped. Raises `Silent` if no own heartbeat arrives."""
        while True:
            await asyncio.sleep(self._beat)
            self._beats += 1  # not seconds: a process that was suspended for a while has received nothing either
            self._beat_now(for_others=self._beats % self._others_every == 0)
            if self._is_silent(self._heard):
                raise Silent(f"no heartbeat came back for {SILENT_BEATS} beats")
            if len(self._unsaid) >= MOST_UNSAID:
                raise Silent(f"{MOST_UNSAID} payloads are waiting to be sent")
            every = self._others_every
            self._freshness.forget(self._beats - SILENT_BEATS * every)
            for heard_of in (self._others, self._unproven):
                for session in [session for session, heard in heard_of.items() if self._is_silent(heard, every)]:
                    del heard_of[session]
                    self._hear(MISSED, b"")

    def _is_silent(self, heard: Heard, every: int = 1) -> bool:
        return self._beats - heard.beat > SILENT_BEATS * every

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
