"""The front (a proxy) as an ASGI application, with one port for browsers and one port for the control API."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
from litestar import Litestar, Router, delete, get, post
from litestar.params import JSONBody

from chatkey_lab.faults import Armed, Faults, Rule
from chatkey_lab.guard import LabGuard
from chatkey_stack.front import requests, sockets
from chatkey_stack.front.upstream import Upstream

ASSETS = "/assets/"


@dataclass
class Front:
    """Forwards requests and sockets from all ports except the control port."""

    service: Upstream
    control_port: int
    assets: Upstream | None = None
    """Server of our own widget files, for a service that has none."""
    lab_token: str = ""
    faults: Faults = field(default_factory=Faults)

    def __post_init__(self) -> None:
        control = Litestar([_control(self.faults)], openapi_config=None, logging_config=None)  # log no addresses
        self._control = LabGuard(control, token=self.lab_token)
        self._clients: dict[str, httpx.AsyncClient] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle the control API, or forward a request or socket according to the fault rules."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["server"][1] == self.control_port:
            await self._control(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        else:
            await self._request(scope, receive, send)

    async def _request(self, scope: Any, receive: Any, send: Any) -> None:
        if (rule := await self._met(scope["path"])) is not None:
            await requests.spoil(rule, scope, receive, send)
            return
        upstream = self.assets if self.assets and scope["path"].startswith(ASSETS) else self.service
        await requests.answer(self._clients[upstream.url], upstream, scope, receive, send)

    async def _socket(self, scope: Any, receive: Any, send: Any) -> None:
        if (rule := await self._met(scope["path"])) is not None:
            await sockets.spoil_handshake(rule, scope, receive, send)
            return
        await sockets.answer(self.service, self.faults, scope, receive, send)

    async def _met(self, path: str) -> Rule | None:
        """Return the rule that refuses this path, or None. If a rule delays the path, the delay happens here."""
        rule = self.faults.hit_path(path)
        if rule is not None and rule.action == "delay":
            await asyncio.sleep(rule.seconds)
            return None
        return rule

    async def _live(self, receive: Any, send: Any) -> None:
        async with AsyncExitStack() as ending:
            for upstream in filter(None, (self.service, self.assets)):
                self._clients[upstream.url] = await ending.enter_async_context(requests.client(upstream))
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def _control(faults: Faults) -> Router:
    @get("/faults", sync_to_thread=False)
    def show() -> dict[str, list[Armed]]:
        return {"data": list(faults.armed.values())}

    @post("/faults", sync_to_thread=False)
    def arm(data: JSONBody[Rule]) -> dict[str, Armed]:
        return {"data": faults.arm(data)}

    @delete("/faults", status_code=200, sync_to_thread=False)
    def remove() -> dict[str, list[Armed]]:
        removed = list(faults.armed.values())
        faults.armed.clear()
        return {"data": removed}

    return Router("/lab", route_handlers=[show, arm, remove])
