"""Who is signed in to the agent panel: a cookie that only the panel's pages and its socket receive (D-21)."""

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
    """Return the cookie that holds a session's token; without one, it takes the browser's away.

    A panel that other sites may frame needs a cookie that is sent in their frames, which browsers allow over https
    only; what comes with it is judged by its `Origin` (see `check_origin`).
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
    """Refuse what does not come from the panel's own pages, a form as well as a socket."""
    if connection.headers.getall("origin", []) != [settings.base_url]:
        raise Refused(
            Code.ORIGIN_NOT_ALLOWED,
            f"This did not come from the agent panel. Open it at {settings.base_url}{PATH}.",
            member="Origin",
        )


async def signed_in(connection: AnyConnection, services: Services) -> SignedIn | None:
    """Return the agent who is signed in, else None; the lab's agent is one where the lab is."""
    token = connection.cookies.get(COOKIE)
    agent = await agent_sessions.of_token(token, services.clock()) if token else None
    if agent is not None and agent.is_lab and not services.settings.lab_opens_panel:
        return None
    return agent


async def sign_out(connection: AnyConnection) -> bool:
    """End the session that the connection's cookie is of; False when there is none."""
    token = connection.cookies.get(COOKIE)
    return await agent_sessions.end(token) if token else False
