"""The agent panel under `/agent`: sign-in, sign-out, the page and its socket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from litestar import Request, Response, Router, WebSocket, get, post, websocket
from litestar.response import Redirect

from chatkey_protocol.codes import Code
from chatkey_protocol.names import SOCIALS
from chatkey_server.chat.desk import QUERY_CHARS
from chatkey_server.chat.events import AGENT_SESSIONS
from chatkey_server.identity.errors import Refused
from chatkey_server.panel import pages, sessions
from chatkey_server.panel.agent_socket import AgentSocket
from chatkey_server.panel.sessions import PATH, check_origin
from chatkey_server.panel.watch import Watch
from chatkey_server.public.parameters import form_body, read_pairs
from chatkey_server.storage import agent_sessions
from chatkey_server.storage.agents import check_agent

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

    from chatkey_server.services import Services

log = structlog.get_logger("chatkey.panel")

PanelRequest = Request[Any, Any, Any]


def router(services: Services) -> Router:
    handlers: list[ControllerRouterHandler] = [*_pages(services), *_static(), _socket(services)]
    if services.settings.lab_opens_panel:
        handlers.append(_lab_sign_in(services))
    return Router(PATH, route_handlers=handlers)


def _pages(services: Services) -> list[ControllerRouterHandler]:
    settings = services.settings

    def sign_in_page(error: str = "", *, status_code: int = 200) -> Response[str]:
        return pages.page("sign_in.html", settings, status_code=status_code, error=error, lab=settings.lab_opens_panel)

    @get("/")
    async def panel(request: PanelRequest) -> Response[str]:
        agent = await sessions.signed_in(request, services)
        if agent is None:
            return sign_in_page()
        most = {"message_chars": settings.limits.message_chars, "query_chars": QUERY_CHARS}
        titles = {name: social.title for name, social in SOCIALS.items()}
        return pages.page(
            "panel.html", settings, lab=settings.lab_opens_panel, agent=agent.name, socials=titles, **most
        )

    @post("/sign-in")
    async def sign_in(request: PanelRequest) -> Response[Any]:
        try:
            check_origin(request, settings)
            await services.rates.agent_sign_ins.count(request.scope)
            username, password = await _credentials(request, most=settings.limits.body_bytes)
        except Refused as refused:
            return sign_in_page(refused.message, status_code=refused.meaning.status)
        agent = await check_agent(username, password)
        token = await agent_sessions.begin(agent, services.clock()) if agent else None
        if token is None:
            log.info("agent.refused")
            return sign_in_page("The name or the password is wrong.", status_code=401)
        log.info("agent.signed_in", agent=username)
        return await _with_session(request, services, token)

    @post("/sign-out")
    async def sign_out(request: PanelRequest) -> Response[Any]:
        check_origin(request, settings)
        return await _with_session(request, services, "")

    return [panel, sign_in, sign_out]


async def _credentials(request: PanelRequest, most: int) -> tuple[str, str]:
    """Return the name and the password from a sign-in form."""
    form = read_pairs(b"", "username", "password", most=most, form=await form_body(request))
    for member in ("username", "password"):
        if member not in form:
            raise Refused(Code.PARAMETER_MISSING, f"The form has no {member}; fill it in.", member=member)
    return form["username"], form["password"]


def _lab_sign_in(services: Services) -> ControllerRouterHandler:
    @post("/lab")
    async def lab_sign_in(request: PanelRequest) -> Redirect:
        check_origin(request, services.settings)
        token = await agent_sessions.begin_for_lab(services.clock())
        return await _with_session(request, services, token)

    return lab_sign_in


async def _with_session(request: PanelRequest, services: Services, token: str) -> Redirect:
    """Redirect to the panel with a new session's cookie, or remove the cookie. End the browser's old session."""
    if await sessions.sign_out(request):
        services.hub.publish(AGENT_SESSIONS, b"")
    return Redirect(PATH, status_code=303, cookies=[sessions.cookie(token, services.settings)])


def _static() -> list[ControllerRouterHandler]:
    @get("/panel.css", sync_to_thread=False)
    def stylesheet() -> Response[bytes]:
        return pages.static("panel.css", "text/css")

    @get("/panel.js", sync_to_thread=False)
    def script() -> Response[bytes]:
        return pages.static("panel.js", "text/javascript")

    @get("/addresses.js", sync_to_thread=False)
    def addresses() -> Response[bytes]:
        return pages.static("addresses.js", "text/javascript")

    @get("/call.js", sync_to_thread=False)
    def call() -> Response[bytes]:
        return pages.static("call.js", "text/javascript")

    return [stylesheet, script, addresses, call]


def _socket(services: Services) -> ControllerRouterHandler:
    watch = Watch(services)

    @websocket("/socket")
    async def agent_socket(socket: WebSocket[Any, Any, Any]) -> None:
        await socket.accept()
        await AgentSocket(socket, services, watch).run()

    return agent_socket
