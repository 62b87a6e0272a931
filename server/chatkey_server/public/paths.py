"""The public paths: how the router is told of them, one spelling for each, and the provider they name."""

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
_NOT_FOUND: Final = Answer(error_body(Code.NOT_FOUND, "There is nothing at this path."), (JSON, NO_STORE), 404)


def route_path(template: str) -> str:
    """Turn a path of the contract, `/provider/{id}`, into one for Litestar, `/provider/{id:str}`."""
    return template.replace("}", ":str}")


class OneSpelling:
    """An ASGI application that answers 404 to any other spelling of a path, before the router evens them out.

    Nothing is percent-encoded, since no path here needs it, no segment is empty or only dots, and there is no slash at
    the end, but for the admin panel, whose paths are Piccolo's. So what is decided by a path is decided by its text.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it."""
        if _is_canonical(scope["raw_path"].partition(b"?")[0]):  # test clients leave the query there
            await self._app(scope, receive, send)
        elif scope["type"] == ScopeType.HTTP:
            await _NOT_FOUND(scope, receive, send)
        else:
            await receive()
            await send({"type": "websocket.close", "code": Close.BAD_FRAME, "reason": None})  # before accepting: 403


def _is_canonical(path: bytes) -> bool:
    return (_ADMIN if path.startswith(b"/admin/") else _OTHER).fullmatch(path) is not None


async def provider_of(services: Services, scope: Scope) -> ProviderView:
    """Return the provider the path names.

    Raises `Refused(provider_unknown)`, or `Refused(provider_off)` for one that has been switched off.
    """
    provider = await services.providers.get(scope["path_params"]["id"])
    if not provider.enabled:
        raise Refused(Code.PROVIDER_OFF, "This provider has been switched off.", member="id")
    return provider
