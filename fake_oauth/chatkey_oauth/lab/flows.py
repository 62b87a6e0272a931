"""The lab's endpoints for flows, sessions and logouts.

They return every login attempt with its timeline, as JSON and as a page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath, FromQuery, QueryParameter

from chatkey_oauth.engine.flows import Flow
from chatkey_oauth.engine.world import Message
from chatkey_oauth.faults.rules import Scope
from chatkey_oauth.lab import pages
from chatkey_oauth.lab.clients_and_people import check_filter
from chatkey_oauth.lab.lab_wire import Data, SessionShown
from chatkey_oauth.lab.refusals import LabRefused
from chatkey_oauth.request_log import stand_in

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from chatkey_oauth.fake import Fake


def flow_handlers(fake: Fake) -> list[HTTPRouteHandler]:
    """Return the endpoints that list flows and show one."""

    @get("/flows", summary="The flows that match all given filters, newest first")
    async def flows(
        *,
        provider: FromQuery[str | None] = None,
        account: FromQuery[str | None] = None,
        client_id: FromQuery[str | None] = None,
        flow: FromQuery[str | None] = None,
        login_hint: FromQuery[str | None] = None,
        cookie: FromQuery[str | None] = None,
        wanted_state: Annotated[str | None, QueryParameter(name="state")] = None,  # Litestar reserves the name
    ) -> Data[list[Flow]]:
        check_filter(provider)
        wanted = Scope(
            provider=provider,
            account=account,
            client_id=client_id,
            flow=flow,
            state=wanted_state,
            login_hint=login_hint,
            cookie=cookie,
        )
        return Data([shown(flow) for flow in fake.flows.all() if wanted.matches(flow)])

    @get("/flows/{flow_id:str}", summary="One flow with its timeline")
    async def flow(flow_id: FromPath[str]) -> Data[Flow]:
        return Data(shown(find(fake, flow_id)))

    @get("/flows/{flow_id:str}/page", summary="One flow as a page", media_type="text/html")
    async def page(flow_id: FromPath[str]) -> Response[Any]:
        return pages.response(pages.flow_page(find(fake, flow_id)))

    @get("/sessions", summary="The browsers in which a person is signed in at a provider, newest first")
    async def sessions() -> Data[list[SessionShown]]:
        return Data(sessions_of(fake))

    @get("/logouts", summary="The logout tokens that were sent to applications, newest first")
    async def logouts() -> Data[list[Message]]:
        return Data(fake.outbox.all())

    return [flows, flow, page, sessions, logouts]


def sessions_of(fake: Fake) -> list[SessionShown]:
    return [
        SessionShown(provider, one.sid, one.person_id, one.auth_time, list(one.clients))
        for provider, one in fake.sessions()
    ]


def find(fake: Fake, flow_id: str) -> Flow:
    """Return a flow. If the flow is not stored, refuse with 404."""
    flow = fake.flows.get(flow_id)
    if flow is None:
        message = f"flow_id: there is no flow {flow_id!r}, or newer flows have replaced it; GET /lab/flows lists them."
        raise LabRefused(404, "flow_unknown", message)
    return flow


def shown(flow: Flow) -> Flow:
    """Return a flow with a fingerprint in place of `state`, as in the request log."""
    return msgspec.structs.replace(flow, state=None if flow.state is None else stand_in(flow.state))
