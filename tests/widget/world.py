"""A simulated browser for tests. It implements every port of the widget, and records the calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests import profile
from tests.widget.driver import KEY, NOW, PID, Driver, FixedChance, claims_of, jwt

from chatkey_protocol.names import REVISION
from chatkey_stack.patience import PATIENCE
from chatkey_widget import events, kept_call
from chatkey_widget.context import Settings
from chatkey_widget.machine import Machine
from chatkey_widget.ports import (
    Answer,
    MicrophoneRefused,
    Opened,
    PopupListener,
    Ports,
    Prepared,
    SoundListener,
    Unreachable,
    WireListener,
)
from chatkey_widget.runtime import Runtime

if TYPE_CHECKING:
    from chatkey_widget.effects import Reason
    from chatkey_widget.view import DeviceKind, View

URI = "wss://chat.test/v1/socket"
SETTINGS = Settings("https://chat.test", "https://chat.test", "https://shop.test", PID, custom_login=True)
TOKEN = Driver(SETTINGS).custom()


class Sound:
    """A microphone and a connection that do what they are told, and write it down."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.refuse: MicrophoneRefused | None = None
        self.listener: SoundListener | None = None
        self.blocked: bool | Exception | None = False  # None: the browser does not answer
        self.opened = asyncio.Event()

    async def open_microphone(self, listener: SoundListener, microphone: str, speaker: str) -> None:
        self.listener = listener
        if self.refuse is not None:
            raise self.refuse
        self.done.append(f"microphone {microphone} {speaker}".rstrip())
        self.opened.set()

    async def answer(self, sdp: str, configuration: Mapping[str, object]) -> str:
        self.done.append(f"answer {configuration['iceTransportPolicy']}")
        return sdp

    async def add_candidate(self, candidate: str) -> None:
        self.done.append(candidate)

    def send(self, *, on: bool) -> None:
        self.done.append("on" if on else "off")

    async def use(self, kind: DeviceKind, device_id: str) -> None:
        if self.refuse is not None:
            raise self.refuse
        self.done.append(f"{kind} {device_id}")

    def play(self) -> None:
        self.done.append("play")

    async def is_blocked(self) -> bool:
        if self.blocked is None:
            await asyncio.Event().wait()
        if isinstance(self.blocked, Exception):
            raise self.blocked
        return bool(self.blocked)

    def close(self) -> None:
        self.done.append("close")


@dataclass
class World:
    """All ports in one object, with the calls that they received and the answers that they give."""

    page: Callable[[], object] = lambda: None
    refuse: Exception | None = None
    stored: str | None = None
    other_tab: str | None = None
    degraded: str | None = None
    lost: str | None = None
    write_refused: str | None = None
    answer: Answer | None = None
    asked: list[str] = field(default_factory=list)
    told: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    sent: list[dict[str, object]] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    patience: float | None = None
    popup_opens: Opened = "window"
    popup_url: str = ""
    opens: bool = True
    signing_in: str | None = None
    waiting: str | None = None
    kept_call: str | None = None
    call_sound: Sound = field(default_factory=Sound)
    given_back: list[str] = field(default_factory=list)
    listener: WireListener | None = None
    popup: PopupListener | None = None
    removed: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def ports(self) -> Ports:
        return Ports(
            keys=self,
            store=self,
            http=self,
            locks=self,
            wires=self,
            popups=Popups(self),
            host=self,
            screen=self,
            sound=self.call_sound,
            now=lambda: NOW,
            release=lambda: self.closed.append(0),
        )

    async def until(self, fact: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not fact():
                self.news.clear()
                await self.news.wait()

    # keys, store, locks

    async def prepare(self) -> Prepared:
        if self.refuse is not None and not isinstance(self.refuse, Unreachable):
            raise self.refuse
        return Prepared(KEY, self.degraded, self.lost)

    async def sign(self, data: bytes) -> bytes:
        return bytes(64)

    def read(self) -> str | None:
        return self.stored

    def keep_in_memory(self) -> None:
        self.stored = None
        self.asked.append("in memory")

    def write(self, token: str) -> str | None:
        self.stored = token
        return self.write_refused

    def drop(self, token: str) -> None:
        if self.stored == token:
            self.stored = None

    def sign_in(self) -> str | None:
        return self.signing_in

    def keep_sign_in(self, sign_in: str | None) -> None:
        self.signing_in = sign_in

    def unsent(self) -> str | None:
        return self.waiting

    def keep_unsent(self, unsent: str | None) -> None:
        self.waiting = unsent

    def call(self) -> str | None:
        return self.kept_call

    def keep_call(self, call: str | None) -> None:
        self.kept_call = call

    @property
    def call_started(self) -> str | None:
        kept = kept_call.read(self.kept_call)
        return None if kept is None else kept.started

    async def claim(self, name: str) -> bool:
        if name in self.held:
            return False
        self.held.append(name)
        return True

    def is_signed_out(self) -> bool:
        return "announce" in self.asked

    def announce_logout(self) -> None:
        self.stored = None
        self.asked.append("announce")

    @asynccontextmanager
    async def hold(self, name: str, patience: float | None = None) -> AsyncIterator[None]:
        self.held.append(name)
        self.patience = patience
        self.stored = self.stored or self.other_tab
        yield
        self.held.append("released")
        self.news.set()

    # http

    async def get(self, url: str) -> Answer:
        self.asked.append(url)
        if isinstance(self.refuse, Unreachable):
            raise self.refuse
        if self.answer is not None:
            return self.answer
        if url.endswith(PID):
            return Answer(200, {"data": {"socket_uri": URI}})
        token = jwt(pid=PID, uid=KEY.uid, type="visitor", iat=int(NOW), exp=int(NOW) + 90)
        return Answer(200, {"data": {"socket_uri": URI, "auth_token": token}})

    # the socket: greets and accepts

    def open(self, uri: str, listener: WireListener) -> World:
        self.listener = listener
        self.news.set()
        if not self.opens:
            return self
        loop = asyncio.get_running_loop()
        loop.call_soon(listener.opened)
        loop.call_soon(self.receive, {"type": "hello", "nonce": "n", "server_time": NOW, "auth_timeout": 9, "ping": 25})
        return self

    def send(self, text: str) -> None:
        frame = json.loads(text)
        profile.said_by_the_widget(frame)
        self.sent.append(frame)
        if frame["type"] == "connect":
            claims = claims_of(frame["token"])
            identity = "visitor" if claims["type"] == "visitor" else "member"
            ready = {"type": "ready", "identity": identity, "uid": claims["uid"], "expires_at": claims["exp"]}
            asyncio.get_running_loop().call_soon(self.receive, ready | {"server_time": NOW, "revision": REVISION})

    def close(self, code: int) -> None:
        self.closed.append(code)

    def receive(self, frame: Mapping[str, object]) -> None:
        assert self.listener is not None
        self.listener.received(json.dumps(frame))

    # the page

    async def get_token(self, jkt: str, reason: Reason, attempt: int) -> str | events.Unusable | None:
        self.asked.append(f"getToken {reason}")
        answer = self.page()
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, asyncio.Future):
            answer = await answer
        assert answer is None or isinstance(answer, str)
        return answer

    def emit(self, name: str, detail: Mapping[str, object]) -> None:
        self.told.append((name, detail))
        self.news.set()

    def names(self) -> list[str]:
        return [name for name, _ in self.told]

    def errors(self) -> list[object]:
        return [detail["code"] for name, detail in self.told if name == "error"]

    # the screen

    def show(self, view: View) -> None:
        self.news.set()

    def give_back(self, text: str) -> None:
        self.given_back.append(text)

    def remove(self) -> None:
        self.removed += 1


@dataclass
class Popups:
    world: World

    def open(self, url: str, name: str, listener: PopupListener) -> Opened:
        self.world.asked.append("popup")
        self.world.popup = listener
        self.world.popup_url = url
        return self.world.popup_opens

    def close(self) -> None:
        self.world.asked.append("popup closed")


def run(world: World) -> Runtime:
    driven = Runtime(Machine(SETTINGS, FixedChance()), SETTINGS, world.ports())
    driven.feed(events.Started(secure=True))
    return driven
