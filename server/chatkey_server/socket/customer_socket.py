"""The socket of a visitor or member, which connects the state machine and the chat to the network."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import count
from secrets import token_hex
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypedDict, TypeVar

import structlog

from chatkey_protocol.codes import Close, Code
from chatkey_server import logs, metrics
from chatkey_server.chat.events import Event, customer_channel, read_event
from chatkey_server.identity import rotation, tokens
from chatkey_server.identity.errors import Refused
from chatkey_server.peers.in_turn import InTurn
from chatkey_server.peers.peer import Peer
from chatkey_server.peers.seen import Seen
from chatkey_server.peers.writer import encode
from chatkey_server.socket import dialogue
from chatkey_server.socket.calling import Calling
from chatkey_server.socket.connection import Connection
from chatkey_server.socket.dialogue import Asking

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatkey_protocol.frames import ChatFrame, Connect, Refresh
    from chatkey_server.chat.standing import Person
    from chatkey_server.clock import Alarm
    from chatkey_server.identity.tokens import SocketIdentity
    from chatkey_server.peers.wire import Wire
    from chatkey_server.services import Services
    from chatkey_server.storage.providers import ProviderView

T = TypeVar("T")

PONG_SECONDS: Final = 1.0
"""How long a ping waits for the responses to earlier frames. Then it gets its pong anyway."""
PROVIDER_CHARS: Final = 64
"""How many characters of an unverified token's `pid` are logged. No provider id is longer."""

ENDS_CALL: Final = frozenset({Close.TOKEN, Close.FORBIDDEN, Close.TOKEN_EXPIRED, Close.IDENTITY_CHANGED})
"""If the server refuses the identity with one of these close codes, a call of this socket ends at once."""

_PROCESS: Final = token_hex(8)
_numbers = count()

log: structlog.typing.FilteringBoundLogger = structlog.get_logger("chatkey.socket")


class _Facts(TypedDict):
    provider: str
    login: str
    uid: str


class SocketEvent(logs.Event):
    """An event of a socket that has connected as this person."""

    provider: str
    login: str
    uid: str


class SocketReady(SocketEvent, tag="socket.ready"):
    skew: float


class SocketClosed(SocketEvent, tag="socket.closed"):
    seconds: float


class CustomerSocket(Peer):
    """Drives the state machine of one customer's socket, and looks up the data that the state machine needs."""

    KIND = "customer"
    FAILED = "socket.failed"
    REFUSED = "socket.refused"
    AGAIN = "connect again"

    def __init__(self, wire: Wire, services: Services) -> None:
        super().__init__(wire, services.sockets, log)
        self._accepted_at = perf_counter()
        self._services = services
        self._clock = services.clock
        self._limits = services.settings.limits
        self._machine = Connection(services.settings.socket_uri, self._limits, now=services.clock())
        self._id = f"{_PROCESS}-{next(_numbers)}"
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._loop.time()
        self._idle: asyncio.TimerHandle | None = None
        self._alarm: Alarm | None = None
        self._address: str | None = None
        self._channel: str | None = None
        self._seen = Seen()
        self._answers = InTurn()
        self._calling = Calling(services, self._id, lambda frame: self.tell(encode(frame)))
        self._ends_call: Code | None = None

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            self._answers.cancel()
            await self._left()
            del self._calling  # otherwise it and this socket would be a reference cycle

    async def serve(self) -> None:
        """Send the hello and answer frames until the widget leaves or a frame is refused."""
        address = self._take_place()
        await self.send(self._machine.arrive(self._origins(), self._wire.scope["query_string"]))
        self._wire.scope["headers"] = []  # a browser's headers would take 2 KB of every idle socket
        self._set_alarm()
        try:
            while (text := await self.text()) is not None:
                await self._take(text, address)
                del text  # an idle socket would keep it
        except Refused:
            await self._answers.settled()  # the frames before the refused one are answered first
            raise
        await self._answers.settled()

    def deliver(self, payload: bytes) -> None:
        """Send an event that another socket or an agent caused."""
        event = read_event(payload)
        is_news = self._is_news(event)
        if is_news and event.source != self._id:
            self.tell(bytes(event.frame))
        if event.call is not None and event.call[1] == "ended":
            self._calling.ended(event.call[0])

    def _is_news(self, event: Event) -> bool:
        if event.seq:
            return self._seen.note(event.seq)
        return event.call is None or self._seen.note_call(*event.call)

    async def refuse(self, refused: Refused) -> None:
        """Send the reason and close.

        If the widget has not connected yet, count the code as the result of the connect.
        """
        if not self._is_closed and self._channel is None:
            metrics.connects(refused.code).inc()
        if refused.meaning.close in ENDS_CALL:
            self._ends_call = self._ends_call or refused.code
        await super().refuse(refused)

    def close(self) -> None:
        """Stop reading and sending, and drop the waiting work."""
        super().close()
        self._machine.close()
        self._answers.forget()

    def _take_place(self) -> str:
        address = self._services.rates.client_of(self._wire.scope)
        self._sockets.addresses.join(address)
        self._address = address
        return address

    def _origins(self) -> list[str]:
        return [value.decode("latin-1") for name, value in self._wire.scope["headers"] if name == b"origin"]

    async def _take(self, text: str, address: str) -> None:
        now = self._clock()
        self._heard_at = self._loop.time()
        frame = self._machine.receive(text, now)
        if frame["type"] == "connect":
            await self._connect(frame, now)
        elif frame["type"] == "refresh":
            await self._refresh(frame, now)
        elif frame["type"] == "ping":
            await self._answers.settled(PONG_SECONDS)
            await self.send(self._machine.pong(self._clock()))
        else:
            answer = partial(self._answer, frame, self._machine.identity, address)
            await self._answers.put(partial(self.guarded, answer), len(text))

    async def _answer(self, frame: ChatFrame, identity: SocketIdentity, address: str) -> None:
        asking = Asking(identity, self._id, address, self._calling)
        answer = await dialogue.answer(self._services.chat, asking, frame, self._clock())
        dialogue.note(self._seen, frame, answer)
        await self.send(answer)

    async def _refresh(self, frame: Refresh, now: float) -> None:
        refresh = partial(self._machine.refresh, frame, now=now)
        await self.send(await self._judged(self._machine.identity.pid, refresh))
        self._set_alarm()

    async def _connect(self, frame: Connect, now: float) -> None:
        token = tokens.unverified(frame["token"], most=self._limits.token_bytes)
        self._known = {"provider": token.pid[:PROVIDER_CHARS]}  # so that the log line of a refusal has the provider
        connect = partial(self._machine.connect, frame, token, now=now)
        admitted = await self._judged(token.pid, connect)
        self._join(admitted.identity)
        metrics.connects("ready").inc()
        logs.info(SocketReady(**_facts(admitted.identity), skew=round(admitted.skew, 1)))
        await self.send(self._machine.ready(now))
        metrics.CONNECT.observe(perf_counter() - self._accepted_at)
        self._set_alarm()
        self._wait_for_a_word(self._limits.idle_timeout)

    async def _judged(self, pid: str, rule: Callable[[ProviderView], T]) -> T:
        providers = self._services.providers
        return await rotation.judged(await providers.get(pid), rule, providers.find)

    def _join(self, identity: SocketIdentity) -> None:
        channel = customer_channel(*_person(identity))
        self._sockets.parties.join(channel)
        self._channel = channel
        self._services.hub.add(channel, self.deliver)
        self._services.catch_up.follow(_person(identity), self._seen, self._on_erased)
        self._known = {"provider": identity.pid, "login": identity.login, "uid": identity.uid}

    def _on_erased(self) -> None:
        self.end(Refused(Code.TOKEN_REVOKED, "The data of this person was erased; sign in again to start anew."))

    async def _left(self) -> None:
        """Stop counting the socket. If the person has no other socket in this process, end the person's call."""
        if self._idle is not None:
            self._idle.cancel()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._address is not None:
            self._sockets.addresses.leave(self._address)
        if self._channel is None:
            return
        call_id = self._calling.leave()
        self._services.catch_up.leave(_person(self._machine.identity), self._seen)
        self._services.hub.remove(self._channel, self.deliver)
        self._sockets.parties.leave(self._channel)
        seconds = round(self._clock() - self._machine.opened_at, 1)
        logs.info(SocketClosed(**_facts(self._machine.identity), seconds=seconds))
        if call_id is not None and self._ends_call is not None:
            await self._services.chat.revoke_call(self._machine.identity, call_id, self._ends_call)
        if self._channel not in self._sockets.parties:
            await self._services.chat.gone(self._machine.identity)

    def _set_alarm(self) -> None:
        due = self._machine.wakes_at
        if self._alarm is not None and self._alarm.when <= due:
            return  # the earlier alarm fires in time, and then sets the next one
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._clock.call_at(due, self._on_time)

    def _on_time(self) -> None:
        self._alarm = None
        try:
            reauth = self._machine.tick(self._clock())
        except Refused as refused:
            self.end(refused)
            return
        if reauth is not None:
            self.tell(encode(reauth))
        self._set_alarm()

    def _wait_for_a_word(self, seconds: float) -> None:
        # Real time, not the server's clock: moving the clock must not make a peer look silent.
        self._idle = self._loop.call_later(seconds, self._on_silence)

    def _on_silence(self) -> None:
        silent = self._loop.time() - self._heard_at
        most = self._limits.idle_timeout
        if silent < most:
            self._wait_for_a_word(most - silent)
            return
        self.end(
            Refused(
                Code.IDLE_TIMEOUT,
                f"No frame arrived for {most} s; connect again, and send `ping` as often as `hello` says.",
            )
        )


def _facts(identity: SocketIdentity) -> _Facts:
    return {"provider": identity.pid, "login": identity.login, "uid": logs.without_secrets(identity.uid)}


def _person(identity: SocketIdentity) -> Person:
    return identity.pid, identity.login, identity.uid
