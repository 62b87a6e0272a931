"""The lab's endpoint for the request log. A test can wait for a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from litestar import get
from litestar.params import FromQuery, QueryParameter

from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.lab.clients_and_people import check_filter
from chatkey_oauth.lab.lab_wire import Data, Requests
from chatkey_oauth.request_log import Wanted

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from chatkey_oauth.fake import Fake


def requests_handler(fake: Fake) -> HTTPRouteHandler:
    """Return the endpoint that lists received requests."""

    @get("/requests", summary="The requests that the providers received; with `wait`, waits for a match")
    async def requests(
        *,
        after: FromQuery[int] = 0,
        provider: FromQuery[str | None] = None,
        path: FromQuery[str] = "",
        method: FromQuery[str | None] = None,
        status: FromQuery[int | None] = None,
        client_id: FromQuery[str | None] = None,
        flow: FromQuery[str | None] = None,
        leg: FromQuery[Leg | None] = None,
        wait: Annotated[float, QueryParameter(ge=0, le=30)] = 0,
    ) -> Data[Requests]:
        check_filter(provider)
        wanted = Wanted(
            after=after,
            provider=provider,
            path=path,
            method=method,
            status=status,
            client_id=client_id,
            flow=flow,
            leg=leg,
        )
        found = await fake.log.wait(wanted, seconds=wait)
        return Data(Requests(found, fake.log.last))

    return requests
