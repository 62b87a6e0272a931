"""The lab's controls of the running server: its clock, fault rules and event feed, and a reset of all three."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from litestar import delete, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery, JSONBody

from chatkey_lab.faults import Armed, Faults, Rule
from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.lab.envelope import Data
from chatkey_server.lab.feed import Event, Feed
from chatkey_server.services import Services

DECADE = 10 * 365 * 86_400


PROFILE: Final = "lab.v1"
"""The version of the lab's protocol (docs/lab.md)."""

CAPABILITIES: Final = (
    "clock",
    "faults",
    "own-keys",
    "agent",
    "member-records",
    "businesses",
    "change",
    "rate-limits",
    "search",
    "calls",
    "admin",
)
"""What tests can do with this lab. Social logins are not listed, because they depend on the settings."""


class About(msgspec.Struct, frozen=True):
    """The lab's protocol version and capabilities."""

    profile: str
    capabilities: list[str]


class Advance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far to move the clock, in seconds. Without `alarms`, alarms that become due are called at the next move."""

    advance: Annotated[float, msgspec.Meta(ge=0, le=DECADE)]
    alarms: bool = True


class Time(msgspec.Struct, frozen=True):
    """The server's time, in seconds since the epoch."""

    now: float


class Events(msgspec.Struct, frozen=True):
    """Events, and the number to use as `after` in the next request."""

    events: list[Event]
    last: int


def handlers(services: Services, faults: Faults, feed: Feed) -> Sequence[HTTPRouteHandler]:
    """Return the handlers of /lab, /lab/clock, /lab/events, /lab/faults and /lab/reset."""
    return [_about(services), *_clock(services), *_faults(faults), _events(feed), _reset(services, faults, feed)]


def _about(services: Services) -> HTTPRouteHandler:
    @get("/")
    async def about() -> Data[About]:
        socials = (f"social:{name}" for name in services.settings.offered_socials)
        return Data(About(PROFILE, [*CAPABILITIES, *socials]))

    return about


def _clock(services: Services) -> Sequence[HTTPRouteHandler]:
    @get("/clock")
    async def show_clock() -> Data[Time]:
        return Data(Time(services.clock()))

    @post("/clock", status_code=200)
    async def advance_clock(data: JSONBody[Advance]) -> Data[Time]:
        return Data(Time(services.clock.advance(data.advance, alarms=data.alarms)))

    return [show_clock, advance_clock]


def _events(feed: Feed) -> HTTPRouteHandler:
    @get("/events")
    async def events(
        after: FromQuery[int] = 0, kind: FromQuery[str | None] = None, wait: FromQuery[float] = 0.0
    ) -> Data[Events]:
        found = await feed.wait(after, kind, wait)
        return Data(Events(found, feed.last))

    return events


def _faults(faults: Faults) -> Sequence[HTTPRouteHandler]:
    @get("/faults")
    async def list_faults() -> Data[list[Armed]]:
        return Data(list(faults.armed.values()))

    @post("/faults")
    async def arm_fault(data: JSONBody[Rule]) -> Data[Armed]:
        return Data(faults.arm(data))

    @delete("/faults", status_code=200)
    async def remove_faults() -> Data[list[Armed]]:
        removed = list(faults.armed.values())
        faults.armed.clear()
        return Data(removed)

    @delete("/faults/{fault_id:int}", status_code=200)
    async def remove_fault(fault_id: FromPath[int]) -> Data[Armed]:
        removed = faults.armed.pop(fault_id, None)
        if removed is None:
            raise Refused(Code.NOT_FOUND, f"There is no fault rule {fault_id}.", member="fault_id")
        return Data(removed)

    return [list_faults, arm_fault, remove_faults, remove_fault]


def _reset(services: Services, faults: Faults, feed: Feed) -> HTTPRouteHandler:
    @post("/reset", status_code=200)
    async def reset() -> Data[Time]:
        faults.armed.clear()
        feed.clear()
        services.provider_changed()
        services.rates.reset()
        return Data(Time(services.clock.reset()))

    return reset
