"""Mounts the admin panel. The panel is built at the first request, because building imports a second web framework."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from litestar import asgi
from litestar.handlers import ASGIRouteHandler

from chatkey_server.panel.admin.guard import Guard

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Scope, Send

    from chatkey_server.services import Services

PATH: Final = "/admin"


def handler(services: Services) -> ASGIRouteHandler:
    panel = Guard(OnDemand(services), services)

    @asgi(PATH, is_mount=True, copy_scope=True)
    async def admin_panel(scope: Scope, receive: Receive, send: Send) -> None:
        # Litestar removes the mount's path and adds a slash. The ASGI specification demands the full path.
        scope["path"] = scope["raw_path"].partition(b"?")[0].decode("ascii")
        scope["root_path"] = PATH
        await panel(scope, receive, send)

    return admin_panel


class OnDemand:
    """An ASGI application that builds the panel at the first request. Other requests wait until the panel is built."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._making: asyncio.Lock = asyncio.Lock()
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._making:
            if self._app is None:
                self._app = await asyncio.to_thread(_build, self._services)
        await self._app(scope, receive, send)


def _build(services: Services) -> ASGIApp:
    from chatkey_server.panel.admin.site import build  # noqa: PLC0415 - half a second, for those who open the panel

    return build(services)
