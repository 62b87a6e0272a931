"""Who is signed in to the agent panel: an encrypted cookie that only the panel's pages and its socket receive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from litestar.middleware.session import SessionMiddleware
from litestar.middleware.session.client_side import ClientSideSessionBackend, CookieBackendConfig

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.engine import snapshot
from chatkey_server.storage.tables import Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.connection import ASGIConnection
    from litestar.types import ASGIApp

    from chatkey_server.services import Services
    from chatkey_server.settings import Settings

PATH: Final = "/agent"
LAB_AGENT: Final = "lab agent"
LIFETIME_SECONDS: Final = 12 * 3600


def middleware(services: Services) -> Callable[[ASGIApp], ASGIApp]:
    """Return what reads and writes the session's cookie.

    A panel that other sites may frame needs a cookie that is sent in their frames, which browsers allow over https
    only; what comes with it is judged by its `Origin` (see `check_origin`).
    """
    secure = services.settings.base_url.startswith("https://")
    framed = services.settings.panel_frame_ancestors not in {"'none'", "'self'"}
    config = CookieBackendConfig(
        secret=services.vault.session_key,
        key="chatkey_agent",
        path=PATH,
        max_age=LIFETIME_SECONDS,
        httponly=True,
        secure=secure,
        samesite="none" if secure and framed else "lax",
    )
    backend = ClientSideSessionBackend(config)

    # A plain function, because Litestar copies the middleware of nested routers and a cipher cannot be copied.
    def with_session(app: ASGIApp) -> ASGIApp:
        return SessionMiddleware(app, backend)

    return with_session


def check_origin(connection: ASGIConnection[Any, Any, Any, Any], settings: Settings) -> None:
    """Refuse what does not come from the panel's own pages, a form as well as a socket."""
    if connection.headers.getall("origin", []) != [settings.base_url]:
        raise Refused(
            Code.ORIGIN_NOT_ALLOWED,
            f"This did not come from the agent panel. Open it at {settings.base_url}{PATH}.",
            member="Origin",
        )


async def signed_in(connection: ASGIConnection[Any, Any, Any, Any], settings: Settings) -> str | None:
    """Return the name of the agent who is signed in and still exists, else None."""
    name = connection.session.get("agent")
    if not isinstance(name, str):
        return None
    if settings.lab_opens_panel and name == LAB_AGENT:
        return name
    async with snapshot():
        exists = await Agent.exists().where(Agent.username == name)
    return name if exists else None
