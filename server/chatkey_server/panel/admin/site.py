"""The admin panel as an ASGI application: Piccolo Admin displays the data, and our own endpoints change it."""

# ruff: noqa: SLF001 - Piccolo keeps a table's description in `_meta`
from __future__ import annotations

from functools import partial
from http import HTTPStatus
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from piccolo_admin import endpoints
from piccolo_admin.endpoints import AdminRouter, TableConfig, create_admin, handle_auth_exception
from piccolo_admin.translations.data import ENGLISH
from piccolo_admin.translations.models import Translation
from piccolo_api.change_password.endpoints import change_password
from piccolo_api.crud.endpoints import OrderBy
from piccolo_api.csrf.middleware import CSRFMiddleware
from piccolo_api.rate_limiting.middleware import InMemoryLimitProvider
from piccolo_api.session_auth.middleware import SessionsAuthBackend
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from chatkey_server.panel.admin.accounts import IDLE, LONGEST, Administrators, Sessions
from chatkey_server.panel.admin.editing import editing
from chatkey_server.panel.admin.forms import forms
from chatkey_server.panel.admin.tables import (
    MEMBER_LOGIN,
    Domains,
    Members,
    Providers,
    ServiceKeys,
    SocialLogins,
    visible,
)
from chatkey_server.storage.engine import bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.types import ASGIApp
    from piccolo.columns import Column
    from piccolo.table import Table
    from starlette.types import Receive, Scope, Send

    from chatkey_server.services import Services
    from chatkey_server.storage.engine import Database

TITLE: Final = "chatkey admin"
HEAD: Final = '<link rel="icon" href="data:,"><link rel="stylesheet" href="./admin.css"></head>'
BEFORE_PICCOLO: Final = '<meta charset="utf-8"><script src="./admin.js"></script>'
"""Piccolo's script reads the colour scheme when it starts, and therefore ours comes first."""
PROVIDERS_LISTED: Final = (
    Providers.id,
    Providers.name,
    Providers.enabled,
    Providers.old_secret_until,
    Providers.changed,
)
WORDS: Final = Translation(
    language_code="en",
    language_name="English",
    translations={**ENGLISH.translations, "Login": "Sign in", "Log Out": "Sign out", "Add Row": "Add"},
)
UNLIMITED: Final = 1_000_000_000
"""Switches off Piccolo's own limit, which locks people out until the next restart. The guard limits instead."""


def build(services: Services) -> ASGIApp:
    """Build the panel. The database must be open."""
    _bind(Administrators, Sessions, Providers, Domains, SocialLogins, ServiceKeys, Members)
    host = urlsplit(services.settings.base_url).hostname or ""
    guarded = partial(Route, middleware=_guards(host))
    edit = editing(services)
    return cast(
        "ASGIApp",
        Starlette(
            routes=[
                guarded("/api/tables/{table}/", edit, methods=["POST"]),
                guarded("/api/tables/{table}/{row}/", edit, methods=["PATCH", "PUT", "DELETE"]),
                guarded("/api/change-password/", change_password("/admin/", Sessions), methods=["POST"]),
                Route("/admin.css", partial(_static, name="admin.css", media_type="text/css")),
                Route("/admin.js", partial(_static, name="admin.js", media_type="text/javascript")),
                Mount("/api/docs", _nothing),  # its page loads scripts from other hosts
                Mount("/public/docs", _nothing),
                Mount("/", _piccolo(services, host)),
            ],
            exception_handlers={HTTPException: cast("Any", _refused)},
        ),
    )


def _piccolo(services: Services, host: str) -> AdminRouter:
    """Return Piccolo's own panel, which is read-only. Changes go through our routes."""
    # Piccolo logs an exception with traceback at every level that it passes. The guard logs each failure once.
    endpoints.logger.disabled = True
    panel: AdminRouter = create_admin(
        tables=_tables(),
        forms=forms(services),
        auth_table=Administrators,
        session_table=Sessions,
        session_expiry=IDLE,
        increase_expiry=IDLE / 2,
        max_session_expiry=LONGEST,
        read_only=True,
        rate_limit_provider=InMemoryLimitProvider(timespan=60, limit=UNLIMITED),
        production=True,
        site_name=TITLE,
        default_language_code="en",
        translations=[WORDS],
        auto_include_related=False,
        allowed_hosts=[host],
    )
    page = panel.template.replace("</head>", HEAD).replace("<title>Piccolo Admin", f"<title>{TITLE}")
    panel.template = page.replace('<meta charset="utf-8">', BEFORE_PICCOLO)
    return panel


def _guards(host: str) -> list[Middleware]:
    """Return the middleware for the routes that write. Piccolo's own routes use the same middleware."""
    return [
        Middleware(cast("Any", CSRFMiddleware), allowed_hosts=[host]),
        Middleware(
            AuthenticationMiddleware,
            backend=SessionsAuthBackend(Administrators, Sessions, increase_expiry=IDLE / 2),
            on_error=cast("Any", handle_auth_exception),
        ),
    ]


def _bind(*tables: type[Table]) -> None:
    database = cast("Database", bound())
    for table in tables:
        table._meta.db = database


def _tables() -> Sequence[TableConfig]:
    """Return the displayed columns of each table, and the section of each table."""
    return (
        _table(Providers, PROVIDERS_LISTED),
        _table(Domains),
        _table(SocialLogins),
        _table(ServiceKeys),
        TableConfig(
            Members,
            visible_columns=[column for column in visible(Members) if column is not Members.id],
            link_column=Members.uid,
            order_by=[OrderBy(Members.changed, ascending=False)],
        ),
    )


def _table(table: type[Table], listed: Sequence[Column] = ()) -> TableConfig:
    return TableConfig(
        table, visible_columns=list(listed) or visible(table), visible_filters=visible(table), menu_group=MEMBER_LOGIN
    )


async def _static(_: Request, *, name: str, media_type: str) -> Response:
    return Response((files("chatkey_server.panel") / "static" / name).read_bytes(), media_type=media_type)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    await Response("Nothing exists at this path.", HTTPStatus.NOT_FOUND)(scope, receive, send)


async def _refused(_: Request, refusal: HTTPException) -> Response:
    """Convert an error of Starlette into a response whose text the page displays."""
    return JSONResponse({"detail": refusal.detail}, refusal.status_code)
