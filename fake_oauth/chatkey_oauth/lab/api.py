"""The control API under `/lab`. Responses are JSON with the result in `data`; errors have a code (D-02, D-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litestar import Litestar
from litestar.exceptions import HTTPException
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin

from chatkey_lab.checked_request import CheckedRequest
from chatkey_oauth.lab.clients_and_people import client_handlers, people_handlers
from chatkey_oauth.lab.faults import fault_handlers
from chatkey_oauth.lab.flows import flow_handlers
from chatkey_oauth.lab.parameters import only_known_parameters
from chatkey_oauth.lab.providers import provider_handlers
from chatkey_oauth.lab.refusals import LabRefused, http_refused, refused
from chatkey_oauth.lab.requests import requests_handler
from chatkey_oauth.lab.world import world_handlers

if TYPE_CHECKING:
    from chatkey_oauth.fake import Fake


def control_app(fake: Fake) -> Litestar:
    """Build the control API of one fake whose lab is on."""
    return Litestar(
        route_handlers=[
            *world_handlers(fake),
            *provider_handlers(fake),
            *client_handlers(fake),
            *people_handlers(fake),
            *fault_handlers(fake),
            *flow_handlers(fake),
            requests_handler(fake),
        ],
        path="/lab",
        guards=[only_known_parameters],
        openapi_config=OpenAPIConfig(
            title="chatkey fake OAuth: lab", version="1", path="/schema", render_plugins=[JsonRenderPlugin()]
        ),
        request_class=CheckedRequest,
        logging_config=None,
        exception_handlers={LabRefused: refused, HTTPException: http_refused},
    )
