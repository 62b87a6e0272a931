"""The public paths: templates for the router, the canonical form of a path, and the provider that a path names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from litestar import HttpMethod
from litestar.enums import ScopeType

from chatkey_protocol.codes import Close, Code
from chatkey_server.identity.errors import Refused
from chatkey_server.public.answers import JSON, NO_STORE, Answer, error_body

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Scope, Send

    from chatkey_server.services import Services
    from chatkey_server.storage.providers import ProviderView

READ: Final = (HttpMethod.GET, HttpMethod.HEAD)

_SEGMENTS: Final = rb"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~-]+)+"
_ADMIN: Final = re.compile(_SEGMENTS + rb"/?")
_OTHER: Final = re.compile(rb"/|" + _SEGMENTS)
_NOT_FOUND: Final = Answer(error_body(Code.NOT_FOUND, "Nothing exists at this path."), (JSON, NO_STORE), 404)


def route_path(template: str) -> str:
    """Convert a path of the contract (`/provider/{id}`) into Litestar's syntax (`/provider/{id:str}`)."""
    return template.replace("}", ":str}")


class OneSpelling:
    """An ASGI application that responds with 404 unless a path has the canonical form.

    The router would treat several forms of a path as equal. A canonical path contains no percent-encoding, no empty
    segments and no segments of dots, and does not end with a slash. Only the admin panel's paths may end with a slash,
    because Piccolo's paths do. Therefore other code can compare a path as text.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_canonical(scope["raw_path"].partition(b"?")[0]):  # test clients put the query there too
            await self._app(scope, receive, send)
        elif scope["type"] == ScopeType.HTTP:
            await _NOT_FOUND(scope, receive, send)
        else:
            await receive()
            await send({"type": "websocket.close", "code": Close.BAD_FRAME, "reason": None})  # not accepted yet: a 403


def _is_canonical(path: bytes) -> bool:
    return (_ADMIN if path.startswith(b"/admin/") else _OTHER).fullmatch(path) is not None


async def provider_of(services: Services, scope: Scope) -> ProviderView:
    """Return the provider that the path names.

    Raises `Refused(provider_unknown)`, or `Refused(provider_off)` if the provider is switched off.
    """
    provider = await services.providers.get(scope["path_params"]["id"])
    if not provider.enabled:
        raise Refused(Code.PROVIDER_OFF, "This provider is switched off.", member="id")
    return provider
