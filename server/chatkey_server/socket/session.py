"""One accepted socket: carries to the wire what the state machine decides and what the chat has for the person."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

import structlog

from chatkey_protocol.codes import Code
from chatkey_server.chat.events import customer_channel, read_event
from chatkey_server.identity import tokens
from chatkey_server.identity.errors import Refused
from chatkey_server.socket import dialogue, frames
from chatkey_server.socket.connection import Connection, State
from chatkey_server.socket.handshake import Handshake
from chatkey_server.socket.outbox import GONE, Outbox, send

if TYPE_CHECKING:
    from litestar import WebSocket

    from chatkey_server.clock import Alarm
    from chatkey_server.identity.tokens import SocketIdentity
    from chatkey_server.services import Services
    from chatkey_server.storage.providers import ProviderView

PATIENCE_SECONDS: Final = 2.0
"""How long a peer that does not read can hold up its own closing."""

_PROCESS: Final = token_hex(8)
_numbers = count()

log: structlog.typing.FilteringBoundLogger = structlog.get_logger("chatkey.socket")


class Session:
    """Reads one socket until it ends; what others cause is delivered meanwhile, through a bounded backlog."""

    def __init__(self, socket: WebSocket[Any, Any, Any], services: Services) -> None:
        self._socket = socket
        self._services = services
        self._clock = services.clock
        self._chat = services.chat
        self._handshake = Handshake(services.settings.socket_uri)
        self._limits = services.settings.limits
        self._machine = Connection(self._handshake, self._limits, now=services.clock())
        self._id = f"{_PROCESS}-{next(_numbers)}"
        self._outbox = Outbox(socket)
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._loop.time()
        self._idle: asyncio.TimerHandle | None = None
        self._alarm: Alarm | None = None
        self._closing: asyncio.Task[None] | None = None
        self._address = ""
        self._has_place = False
        self._party: str | None = None
        self._log: structlog.typing.FilteringBoundLogger = log

    async def run(self) -> None:
        """Serve the socket until the peer leaves or something is refused."""
        self._services.sockets.add(self)
        try:
            self._take_place()
            self._handshake.arrive(self._origins(), self._socket.scope["query_string"])
            await self._send(self._machine.hello())
            self._set_alarm()
            while (text := await self._text()) is not None:
                await self._take(text)
        except Refused as refused:
            await self.refuse(refused)
        except GONE:
            pass  # the peer has left: nobody is there to be told
        except Exception:
            log.exception("socket.failed")
            await self.refuse(Refused(Code.INTERNAL, "Something went wrong here; connect again."))
        finally:
            await self._leave()

    async def refuse(self, refused: Refused) -> None:
        """Say why, and close with the code that belongs to it."""
        if self._machine.state is State.CLOSED:
            return
        self._machine.close()
        self._outbox.close()
        self._log.info("socket.refused", code=refused.code, member=refused.member, cause=refused.cause)
        with suppress(*GONE, TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await send(self._socket, frames.encode(frames.error(refused)))
                await self._socket.close(refused.meaning.close, refused.code)

    def deliver(self, payload: bytes) -> None:
        """Queue a frame that somebody else caused."""
        event = read_event(payload)
        if event.source == self._id or self._machine.state is State.CLOSED:
            return
        if not self._outbox.put(bytes(event.frame)):
            slow = Refused(Code.UNAVAILABLE, "This connection reads too slowly; connect again.")
            self._closing = asyncio.create_task(self.refuse(slow))

    def _take_place(self) -> None:
        address = self._services.rates.client_of(self._socket.scope)
        self._services.sockets.addresses.join(address)
        self._address, self._has_place = address, True

    def _origins(self) -> list[str]:
        return [value.decode("latin-1") for name, value in self._socket.scope["headers"] if name == b"origin"]

    async def _text(self) -> str | None:
        event = await self._socket.receive()
        if event["type"] != "websocket.receive" or self._machine.state is State.CLOSED:
            return None
        text = event.get("text")
        if text is None:
            raise Refused(Code.FRAME_INVALID, "Frames are text messages; a binary one came.")
        return text

    async def _take(self, text: str) -> None:
        now = self._clock()
        self._heard_at = self._loop.time()
        frame = self._machine.receive(text, now)
        match frame:
            case frames.Connect():
                await self._connect(frame, now)
            case frames.Refresh():
                provider = await self._provider(self._identity().pid)
                await self._send(self._machine.refresh(frame, provider, now))
                self._set_alarm()
            case frames.Ping():
                await self._send(self._machine.pong(now))
            case _:
                await self._send(await dialogue.answer(self._chat, self._identity(), frame, self._id, self._address))

    async def _connect(self, frame: frames.Connect, now: float) -> None:
        token = tokens.unverified(frame.token, most=self._services.settings.limits.token_bytes)
        ready = self._machine.connect(frame, token, await self._provider(token.pid), now)
        identity = self._identity()
        party = customer_channel(identity.pid, identity.login, identity.uid)
        self._services.sockets.parties.join(party)
        self._party = party
        self._services.hub.add(party, self.deliver)
        self._log = log.bind(provider=identity.pid, login=identity.login, uid=identity.uid)
        self._log.info("socket.ready", skew=round(self._handshake.skew, 1))
        await self._send(ready)
        self._set_alarm()
        self._wait_for_a_word(self._limits.idle_timeout)

    async def _provider(self, provider_id: str) -> ProviderView:
        providers = self._services.providers
        return providers.cached(provider_id) or await providers.get(provider_id)

    def _identity(self) -> SocketIdentity:
        if self._machine.identity is None:
            raise RuntimeError("the state machine let a frame through before anyone was connected")
        return self._machine.identity

    async def _send(self, frame: Mapping[str, object]) -> None:
        if self._machine.state is not State.CLOSED:
            await send(self._socket, frames.encode(frame))

    def _set_alarm(self) -> None:
        due = self._machine.wakes_at
        if self._alarm is not None and self._alarm.when <= due:
            return  # it goes off early enough, and then looks again
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._clock.call_at(due, self._on_time)

    def _on_time(self) -> None:
        self._alarm = None
        try:
            reauth = self._machine.tick(self._clock())
        except Refused as refused:
            self._closing = asyncio.create_task(self.refuse(refused))
            return
        if reauth is not None:
            self._outbox.put(frames.encode(reauth))
        self._set_alarm()

    def _wait_for_a_word(self, seconds: float) -> None:
        # Whether a peer is there does not depend on what time it is: this is no alarm of the clock.
        self._idle = self._loop.call_later(seconds, self._on_silence)

    def _on_silence(self) -> None:
        silent = self._loop.time() - self._heard_at
        most = self._limits.idle_timeout
        if silent < most:
            self._wait_for_a_word(most - silent)
            return
        idle = Refused(Code.IDLE_TIMEOUT, f"No frame came for {most} s; connect again, and ping as `hello` says.")
        self._closing = asyncio.create_task(self.refuse(idle))

    async def _leave(self) -> None:
        self._machine.close()
        if self._idle is not None:
            self._idle.cancel()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._outbox.close()
        self._services.sockets.remove(self)
        if self._has_place:
            self._services.sockets.addresses.leave(self._address)
        if self._party is None:
            return
        self._services.hub.remove(self._party, self.deliver)
        self._services.sockets.parties.leave(self._party)
        self._log.info("socket.closed", seconds=round(self._clock() - self._machine.opened_at, 1))
        if self._party not in self._services.sockets.parties:
            await self._chat.gone(self._identity())
