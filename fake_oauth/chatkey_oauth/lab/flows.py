"""The lab's endpoints for flows, sessions and logouts.

They return every login attempt with its timeline, as JSON and as a page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from chatkey_oauth.engine.flows import Flow
from chatkey_oauth.engine.http import Answer
from chatkey_oauth.engine.world import Message
from chatkey_oauth.faults.rules import Scope
from chatkey_oauth.lab import pages
from chatkey_oauth.lab.clients_and_people import check_filter
from chatkey_oauth.lab.endpoints import Endpoint, get
from chatkey_oauth.lab.lab_wire import SessionShown
from chatkey_oauth.lab.refusals import LabRefused
from chatkey_oauth.request_log import stand_in

if TYPE_CHECKING:
    from chatkey_oauth.fake import Fake


def flow_handlers(fake: Fake) -> list[Endpoint]:
    """Return the endpoints that list flows and show one."""

    @get("/flows", "The flows that match all given filters, newest first")
    def flows(wanted: Scope) -> list[Flow]:
        check_filter(wanted.provider)
        return [shown(flow) for flow in fake.flows.all() if wanted.matches(flow)]

    @get("/flows/{flow_id}", "One flow with its timeline")
    def flow(flow_id: str) -> Flow:
        return shown(find(fake, flow_id))

    @get("/flows/{flow_id}/page", "One flow as a page")
    def page(flow_id: str) -> Answer:
        return pages.flow_page(find(fake, flow_id))

    @get("/sessions", "The browsers in which a person is signed in at a provider, newest first")
    def sessions() -> list[SessionShown]:
        return sessions_of(fake)

    @get("/logouts", "The logout tokens that were sent to applications, newest first")
    def logouts() -> list[Message]:
        return fake.outbox.all()

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
