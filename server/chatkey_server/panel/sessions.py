"""Keeps sessions of the agent panel in a cookie that only the panel's pages and socket receive (D-21)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from litestar.datastructures import Cookie

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage import agent_sessions
from chatkey_server.storage.agent_sessions import LIFETIME_SECONDS, SignedIn

if TYPE_CHECKING:
    from litestar.connection import ASGIConnection

    from chatkey_server.services import Services
    from chatkey_server.settings import Settings

    AnyConnection = ASGIConnection[Any, Any, Any, Any]

PATH: Final = "/agent"
COOKIE: Final = "chatkey_agent"


def cookie(token: str, settings: Settings) -> Cookie:
    """Return the cookie for a session's token. An empty token deletes the cookie from the browser.

    If other sites may frame the panel, the cookie must also be sent from such frames, which browsers allow over https
    only. Requests that come from other sites are then refused because of their `Origin` (see `check_origin`).
    """
    secure = settings.base_url.startswith("https://")
    framed = settings.panel_frame_ancestors not in {"'none'", "'self'"}
    return Cookie(
        COOKIE,
        value=token,
        path=PATH,
        max_age=LIFETIME_SECONDS if token else 0,
        httponly=True,
        secure=secure,
        samesite="none" if secure and framed else "lax",
    )


def check_origin(connection: AnyConnection, settings: Settings) -> None:
    """Refuse requests and sockets that do not come from the panel's own pages."""
    if connection.headers.getall("origin", []) != [settings.base_url]:
        raise Refused(
            Code.ORIGIN_NOT_ALLOWED,
            f"This request did not come from the agent panel. Open the panel at {settings.base_url}{PATH}.",
            member="Origin",
        )


async def signed_in(connection: AnyConnection, services: Services) -> SignedIn | None:
    """Return the signed-in agent, or None. The lab's agent is accepted only if the lab opens the panel."""
    token = connection.cookies.get(COOKIE)
    agent = await agent_sessions.of_token(token, services.clock()) if token else None
    if agent is not None and agent.is_lab and not services.settings.lab_opens_panel:
        return None
    return agent


async def sign_out(connection: AnyConnection) -> bool:
    """End the session of the connection's cookie. Returns False if there is no session."""
    token = connection.cookies.get(COOKIE)
    return await agent_sessions.end(token) if token else False
