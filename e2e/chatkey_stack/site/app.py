"""The site as a Litestar application: pages for people, a token endpoint for widgets, a control API for harnesses."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from litestar import Litestar

from chatkey_lab.checked_request import CheckedRequest
from chatkey_lab.guard import LabGuard
from chatkey_stack.site.control import control
from chatkey_stack.site.pages import pages
from chatkey_stack.site.people import people
from chatkey_stack.site.shops import Shops


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses at which browsers find this site, the chat service and the widget's script."""

    site: str
    service: str
    sdk: str


def create_app(addresses: Addresses, *, now: Callable[[], float] = time.time, lab_token: str = "") -> Litestar:
    """Build the site without shops. Callers who may use the lab add shops with `POST /lab/shops`."""
    shops = Shops(now)
    everybody = people(addresses.site)
    app = Litestar(
        [control(shops), *pages(shops, everybody, addresses.site, addresses.service, addresses.sdk)],
        request_class=CheckedRequest,
        openapi_config=None,
    )
    app.asgi_handler = LabGuard(app.asgi_handler, token=lab_token)
    return app
