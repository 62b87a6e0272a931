"""Sends hostile input to every route of the service. No request may cause a server error or a traceback in the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from piccolo_admin.endpoints import ASSET_PATH
from tests.hostile.routes.tables import Door, litestar_doors, starlette_doors
from tests.hostile.routes.walk import Headed, Walk, nobody

from chatkey_server.panel.admin.site import build
from chatkey_server.panel.admin.tables import Domains, Members, Providers, ServiceKeys, SocialLogins

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

pytestmark = pytest.mark.filterwarnings("ignore:.*SQLite doesn't support ILIKE")

MOUNTED: Final = {"/v1/socket", "/agent/socket", "/admin"}
"""Paths walked elsewhere: the admin panel has its own route table, `test_walk_sockets.py` walks the sockets."""
PATH: Final = {
    "id": "prov",
    "social": "google",
    "name": "sdk.js",
    "path": "openapi.json",
    "fault_id": "1",
    "provider_id": "prov",
    "/admin/assets/{below} below": next(Path(ASSET_PATH).glob("assets/*.js")).name,
    "/admin/api/tables/providers/{row_id:str}/ row_id": "prov",
    "below": "x",
    "form_slug": "rotate-secret",
    "language_code": "en",
    "row": "1",
    "row_id": "1",
    "table": "domains",
}
MEMBERS: Final = {
    "advance": 0,
    "alarms": True,
    "where": "socket",
    "action": "delay",
    "id": "prov",
    "provider": "prov",
    "social": "google",
    "socials": {},
    "domains": ["shop.test"],
    "do": "read",
    "overlap": 1,
    "enabled": True,
    "key_source": "own",
}
NOT_THERE: Final = {
    # pages that display the API documents, which would load scripts from other hosts
    *("/admin/api/docs/", "/admin/api/docs/{below}", "/admin/api/docs/oauth2-redirect/"),
    *("/admin/public/docs/", "/admin/public/docs/{below}", "/admin/public/docs/oauth2-redirect/"),
    # files attached to rows, which the panel does not have
    "/admin/api/media/generate-file-url/",
    # a folder
    "/admin/assets/",
    # rows whose ids this test does not know
    *(f"/admin/api/tables/{name}/{{row_id:str}}/" for name in ("domains", "members", "service_keys", "social_logins")),
}
"""Routes of the admin panel that answer an honest request with 404."""
ADMIN_MEMBERS: Final = (
    *("username", "password", "current_password", "new_password", "confirm_new_password", "format"),
    *("id", "name", "domain", "provider", "overlap", "table_name", "column_name", "file_key", "csrftoken"),
)
"""Body members that the admin panel's forms and sign-ins accept."""
ADMIN_QUERY: Final = (
    *("__order", "__page", "__page_size", "__visible_fields", "__readable", "__range_header", "__range_header_name"),
    *("__ids", "id__operator", "name__match", "social__operator", "search", "limit", "offset"),
)
"""Query parameters that Piccolo reads without declaring them."""


@pytest.fixture(params=[30, pytest.param(60, marks=pytest.mark.long)], ids=["some of it", "more of it"])
def most(request: pytest.FixtureRequest) -> int:
    """The number of requests to each route of the admin panel. It is limited because the panel is slow."""
    return int(request.param)


def admin_doors(service: ServerClient) -> Iterator[Door]:
    tables = (Providers, Domains, SocialLogins, ServiceKeys, Members)
    columns = [column._meta.name for table in tables for column in table._meta.columns]
    every = tuple(dict.fromkeys((*ADMIN_MEMBERS, *columns)))
    for door in starlette_doors(build(service.services), prefix="/admin"):
        yield door._replace(members=every, query=(*door.query, *ADMIN_QUERY))


async def test_the_admin_panel(
    service: ServerClient, administrator: Headed, forget_rates: Callable[[], None], failed: list[str], most: int
) -> None:
    walk = Walk(as_asgi(service), PATH, MEMBERS, administrator, forget_rates, most, failed)

    wrong = await walk.past(admin_doors(service))

    assert not wrong, "\n".join(wrong[:20])
    assert walk.unreached() <= NOT_THERE


async def test_the_admin_panel_for_a_stranger(
    service: ServerClient, forget_rates: Callable[[], None], failed: list[str], most: int
) -> None:
    async def stranger(_: Door) -> Any:
        return ((b"origin", b"http://localhost:8800"), (b"x-csrftoken", b"x"), (b"cookie", b"csrftoken=x"))

    walk = Walk(as_asgi(service), PATH, MEMBERS, stranger, forget_rates, most, failed)

    wrong = await walk.past(admin_doors(service))

    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("caller", ["a stranger", "an agent"])
async def test_other_routes_with_the_lab(
    service: ServerClient, agent: Headed, forget_rates: Callable[[], None], failed: list[str], caller: str
) -> None:
    headed = agent if caller == "an agent" else nobody
    walk = Walk(as_asgi(service), PATH, MEMBERS, headed, forget_rates, failed=failed)

    wrong = await walk.past(litestar_doors(service.app, mounted=MOUNTED))

    assert not wrong, "\n".join(wrong[:20])
    assert walk.unreached() == {"/schema"}  # the document is served, but no page that displays it


@pytest.mark.parametrize("has_lab", [False])
async def test_other_routes_without_the_lab(
    service: ServerClient, forget_rates: Callable[[], None], failed: list[str]
) -> None:
    walk = Walk(as_asgi(service), PATH, MEMBERS, nobody, forget_rates, failed=failed)

    wrong = await walk.past(litestar_doors(service.app, mounted=MOUNTED))

    assert not wrong, "\n".join(wrong[:20])
    assert walk.unreached() == {"/schema"}  # the document is served, but no page that displays it


def as_asgi(service: ServerClient) -> Any:
    return service.app
