"""The lab's endpoint for the request log. A test can wait for a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatkey_oauth.lab.clients_and_people import check_filter
from chatkey_oauth.lab.endpoints import Endpoint, get
from chatkey_oauth.lab.lab_wire import Requests, WantedSoon

if TYPE_CHECKING:
    from chatkey_oauth.fake import Fake


def requests_handler(fake: Fake) -> Endpoint:
    """Return the endpoint that lists received requests."""

    @get("/requests", "The requests that the providers received; with `wait`, waits for a match")
    async def requests(wanted: WantedSoon) -> Requests:
        check_filter(wanted.provider)
        found = await fake.log.wait(wanted, wanted.wait)
        return Requests(found, fake.log.last)

    return requests
