"""The lab's endpoints for the overview, the clock and the reset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import Request, Response, get, post
from litestar.params import JSONBody

from chatkey_oauth.lab import pages
from chatkey_oauth.lab.clients_and_people import without_secret
from chatkey_oauth.lab.flows import sessions_of
from chatkey_oauth.lab.lab_wire import Advance, Data, Overview, Place, SwitchShown, Time
from chatkey_oauth.providers import NAMES
from chatkey_oauth.ready_made import shown_secret
from chatkey_oauth.seed import exported

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from chatkey_oauth.fake import Fake


def world_handlers(fake: Fake) -> list[HTTPRouteHandler]:
    """Return the endpoints for the overview, the clock and the reset."""

    @get("/", summary="An overview of everything; a page if a browser asks")
    async def overview(request: Request[Any, Any, Any]) -> Response[Data[Overview]]:
        found = overview_of(fake)
        if pages.is_wanted(request):
            address = f"{str(request.base_url).rstrip('/')}/lab"
            known = {(client.provider, client.client_id): shown_secret(client) for client in fake.world.clients.all()}
            lists = pages.Lists(
                fake.flows.all(), fake.log.find(), fake.world.people.all(), sessions_of(fake), fake.outbox.all()
            )
            return pages.response(
                pages.lab_page(found, lists, address, lambda client: known[client.provider, client.client_id])
            )
        return Response(Data(found), headers={"vary": "accept"})

    @get("/clock", summary="The fake's time")
    async def clock() -> Data[Time]:
        return Data(Time(fake.clock()))

    @post("/clock", status_code=200, summary="Move the fake's time")
    async def advance(data: JSONBody[Advance]) -> Data[Time]:
        return Data(Time(fake.clock.advance(data.advance)))

    @post("/reset", status_code=200, summary="Return to the initial state")
    async def reset() -> Data[Time]:
        fake.reset()
        return Data(Time(fake.clock()))

    @get("/seed", summary="The state as a seed file, with the secrets of the applications", media_type="text/plain")
    async def seed() -> Response[str]:
        return Response(exported(fake), media_type="text/plain", headers={"cache-control": "no-store"})

    return [overview, clock, advance, reset, seed]


def overview_of(fake: Fake) -> Overview:
    return Overview(
        now=fake.clock(),
        providers={name: Place(*fake.addresses(name)) for name in NAMES},
        clients=[without_secret(client) for client in fake.world.clients.all()],
        people=len(fake.world.people.all()),
        flows=len(fake.flows.all()),
        requests=fake.log.last,
        auto_approve=fake.world.approval.account,
        rules=fake.faults.rules(),
        faults=fake.faults.catalogue(),
        switches=[SwitchShown(*position) for position in fake.world.switches.all()],
    )
