"""The lab's overview, clock and reset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import Request, Response, get, post
from litestar.params import JSONBody

from chatkey_oauth.lab import pages
from chatkey_oauth.lab.registry import without_secret
from chatkey_oauth.lab.wire import Advance, Data, Overview, Place, SwitchShown, Time
from chatkey_oauth.providers import NAMES

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from chatkey_oauth.app import App


def world_handlers(app: App) -> list[HTTPRouteHandler]:
    """What there is, and what time it is."""

    @get("/", summary="Everything there is; a page when a browser asks")
    async def overview(request: Request[Any, Any, Any]) -> Response[Data[Overview]]:
        found = overview_of(app)
        if pages.is_wanted(request):
            return pages.response(pages.lab_page(found, app.flows.all(), f"{str(request.base_url).rstrip('/')}/lab"))
        return Response(Data(found), headers={"vary": "accept"})

    @get("/clock", summary="The fake's time")
    async def clock() -> Data[Time]:
        return Data(Time(app.clock()))

    @post("/clock", status_code=200, summary="Move the fake's time")
    async def advance(data: JSONBody[Advance]) -> Data[Time]:
        return Data(Time(app.clock.advance(data.advance)))

    @post("/reset", status_code=200, summary="Return to the state after the start")
    async def reset() -> Data[Time]:
        app.reset()
        return Data(Time(app.clock()))

    return [overview, clock, advance, reset]


def overview_of(app: App) -> Overview:
    """Everything there is."""
    return Overview(
        now=app.clock(),
        providers={name: Place(*app.addresses(name)) for name in NAMES},
        clients=[without_secret(client) for client in app.world.clients.all()],
        people=len(app.world.people.all()),
        flows=len(app.flows.all()),
        requests=app.log.last,
        auto_approve=app.world.approval.account,
        rules=app.faults.rules(),
        faults=app.faults.catalogue(),
        switches=[SwitchShown(*position) for position in app.world.switches.all()],
    )
