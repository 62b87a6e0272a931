"""Controls for tests. They are mounted only if a setting enables them, and only on loopback (D-14)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import structlog
from litestar import Litestar, Router

from chatkey_lab.checked_request import CheckedRequest
from chatkey_lab.faults import Armed, Faults
from chatkey_lab.guard import FORM, LabGuard
from chatkey_server import logs
from chatkey_server.lab import agent, controls, records
from chatkey_server.lab.feed import Feed
from chatkey_server.lab.middleware import FaultyApp
from chatkey_server.services import Services

LAB_SIGN_IN: Final = "/agent/lab"
"""The route that opens the agent panel without a password. It belongs to the lab too."""

log = structlog.stdlib.get_logger()


class Lab:
    """The lab of one app: its routes under /lab, its event feed, and its fault rules for requests and sockets."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._faults = Faults(_log)
        self._feed = Feed(services.clock)
        self.router = Router(
            "/lab",
            route_handlers=[
                *controls.handlers(services, self._faults, self._feed),
                *records.handlers(services),
                *agent.handlers(services),
            ],
            request_class=CheckedRequest,
        )

    @asynccontextmanager
    async def lifespan(self, _: Litestar) -> AsyncIterator[None]:
        """Record log events while the app runs."""
        with logs.listening(self._feed.record):
            yield

    def stand_before(self, app: Litestar) -> None:
        """Apply the fault rules to every request and socket, and refuse unauthorised access to the controls."""
        settings = self._services.settings
        guard = partial(LabGuard, token=settings.lab_token, origins=[settings.base_url])
        faulty = FaultyApp(app.asgi_handler, self._faults)
        app.asgi_handler = guard(guard(faulty, under=LAB_SIGN_IN, takes=FORM))


def _log(hit: Armed) -> None:
    log.info("lab.fault", where=hit.rule.where, action=hit.rule.action, hits=hit.hits)
