"""The site as a Litestar application: pages for people, a token endpoint for widgets, a control API for harnesses."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from litestar import Litestar

from chatkey_demo.site.control import control
from chatkey_demo.site.pages import pages
from chatkey_demo.site.people import people
from chatkey_demo.site.shops import Shops


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where browsers find this site, the chat service and the widget's script."""

    site: str
    service: str
    sdk: str


def create_app(addresses: Addresses, *, now: Callable[[], float] = time.time) -> Litestar:
    """Build the site without any shop; shops come by `POST /lab/shops`."""
    shops = Shops(now)
    everybody = people(addresses.site)
    return Litestar(
        [control(shops), *pages(shops, everybody, addresses.site, addresses.service, addresses.sdk)],
        openapi_config=None,
    )
