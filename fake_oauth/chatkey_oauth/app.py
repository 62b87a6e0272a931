"""The fake as an ASGI application: providers under their names, and the lab, whose framework is loaded on demand."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

from chatkey_oauth.clock import Clock
from chatkey_oauth.engine.approval import Approval
from chatkey_oauth.engine.clients import Clients
from chatkey_oauth.engine.flows import Flows
from chatkey_oauth.engine.http import Answer, Asgi, Call, Receive, Scope, Send, send_answer, text_answer
from chatkey_oauth.engine.pages import index_page
from chatkey_oauth.engine.people import People
from chatkey_oauth.engine.provider import Addresses, Provider, World
from chatkey_oauth.engine.switches import Switches
from chatkey_oauth.lab.log import RequestLog
from chatkey_oauth.providers import NAMES, declared_switches, load
from chatkey_oauth.settings import Settings

if TYPE_CHECKING:
    from chatkey_oauth.faults.rules import Faults
    from chatkey_oauth.faults.watch import Watch

LAB: Final = "lab"
BODY_BYTES: Final = 64 * 1024
WELL_KNOWN: Final = re.compile(r"/\.well-known/([a-z-]+)/([a-z]+)(/.*)?")


class App:
    """One running fake.

    The providers are plain functions of a request and need no framework; Litestar, which costs more time to import
    than everything else here, carries the lab and is imported with its first request.
    """

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        people, switches = People(), Switches(declared_switches, settings.switches)
        approval = Approval(people, settings.auto_approve or None)
        self.world = World(clock, Clients(settings.clients), people, switches, approval)
        self.log = RequestLog(clock)
        self._providers: dict[str, Provider] = {}
        if settings.lab:
            self.world = self.world._replace(watch=self.watch)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000, "reason": None})
        elif self.settings.lab and first_segment(scope["path"]) == LAB:
            await self.control(scope, receive, send)
        else:
            await self._serve(scope, receive, send)

    @cached_property
    def control(self) -> Asgi:
        """The lab's control API."""
        from chatkey_oauth.lab.api import control_app

        return cast("Asgi", control_app(self))

    @cached_property
    def watch(self) -> Watch:
        """What attends to every request while the lab is on."""
        from chatkey_oauth.faults.rules import Faults
        from chatkey_oauth.faults.watch import Watch

        clock, random = self.world.clock, self.world.random
        return Watch(Flows(clock, random), Faults(clock, random, NAMES))

    @property
    def flows(self) -> Flows:
        """The login attempts that were seen while the lab is on."""
        return self.watch.flows

    @property
    def faults(self) -> Faults:
        """The faults that are armed while the lab is on."""
        return self.watch.faults

    def provider(self, name: str) -> Provider:
        """A provider of `NAMES`, made when it is first asked for."""
        if name not in self._providers:
            self._providers[name] = load(name)(self.world, self.addresses(name))
        return self._providers[name]

    def addresses(self, name: str) -> Addresses:
        """Where a provider is, for whom."""
        settings = self.settings
        return Addresses(settings.browser_base(name), settings.server_base(name), settings.issuer(name))

    def reset(self) -> None:
        """Return to the state after the start. Signing keys stay, so that what others cached of them holds."""
        self.clock.reset()
        self.world.clients.reset()
        self.world.people.reset()
        self.world.switches.reset()
        self.world.approval.reset()
        for provider in self._providers.values():
            provider.reset()
        if self.world.watch is not None:
            self.world.watch.clear()
        self.log.clear()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        call = call_of(scope, body or b"")
        answer = text_answer("The body is too large.", 413) if body is None else self.answer(call)
        if answer.delay == 0 and not answer.cut:
            await send_answer(send, answer, with_body=call.method != "HEAD")
        else:
            from chatkey_oauth.line import misbehave

            await misbehave(scope, receive, send, answer)

    def answer(self, call: Call) -> Answer:
        """Hand a request to its provider, and write it down while the lab is on."""
        name, path = provider_path(call.path)
        if name not in NAMES:
            return self._front(call)
        call.path = path
        answer = self.provider(name).respond(call)
        if self.settings.lab:
            self.log.add(name, call, answer)
        return answer

    def _front(self, call: Call) -> Answer:
        if call.path != "/":
            return text_answer(f"There is nothing at {call.path}. Providers: {', '.join(NAMES)}.", 404)
        places = {load(name).label: self.addresses(name).browser for name in NAMES}
        return index_page(places, lab=self.settings.lab)


def create_app(settings: Settings | None = None, clock: Clock | None = None) -> App:
    """Make a fake with its own clients, people and tokens."""
    return App(settings or Settings(), clock or Clock())


def first_segment(path: str) -> str:
    """The part of a path between its first two slashes."""
    return path.removeprefix("/").partition("/")[0]


def provider_path(path: str) -> tuple[str, str]:
    """Whose path this is, and what it is there; metadata may be asked for before the issuer's path (RFC 8414 3.1)."""
    if found := WELL_KNOWN.fullmatch(path):
        document, name, rest = found.groups("")
        return name, f"/.well-known/{document}{rest}"
    name, _, rest = path.removeprefix("/").partition("/")
    return name, f"/{rest}"


def call_of(scope: Scope, body: bytes) -> Call:
    """The request as a plain value."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    query = scope["query_string"].decode("ascii", "surrogateescape")
    return Call(scope["method"], scope["path"], query, headers, body)


async def read_body(receive: Receive) -> bytes | None:
    """Read a body; None when it is longer than `BODY_BYTES`."""
    body, more = b"", True
    while more and len(body) <= BODY_BYTES:
        message = await receive()
        if message["type"] != "http.request":
            break
        body, more = body + message["body"], message["more_body"]
    return body if len(body) <= BODY_BYTES else None


async def live(receive: Receive, send: Send) -> None:
    """Take part in the server's start and end, with nothing to do."""
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
