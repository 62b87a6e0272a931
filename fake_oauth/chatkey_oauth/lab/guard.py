"""Who may use the lab: programs of this machine, and pages that come from the fake itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from litestar.params import QueryParameter

from chatkey_oauth.lab.refusals import LabRefused
from chatkey_oauth.loopback import is_loopback

if TYPE_CHECKING:
    from litestar.connection import ASGIConnection
    from litestar.handlers import BaseRouteHandler

    Connection = ASGIConnection[Any, Any, Any, Any]


def only_this_machine(connection: Connection, _: BaseRouteHandler) -> None:
    """Refuse a peer elsewhere, a name that only leads here (DNS rebinding), and a page of another origin."""
    peer = connection.client.host if connection.client else ""
    if not is_loopback(peer):
        raise LabRefused(403, "peer_foreign", f"The lab is for this machine only, and the request came from {peer!r}.")
    host = connection.headers.get("host", "")
    if not is_loopback(host_name(host)):
        raise LabRefused(
            403, "host_foreign", f"Host: {host!r} is no name of this machine. Call the lab at 127.0.0.1 or localhost."
        )
    origin = connection.headers.get("origin")
    if origin is not None and origin != f"{connection.scope['scheme']}://{host}":
        message = f"Origin: pages of {origin!r} may not use the lab. Call it from a test or a command line instead."
        raise LabRefused(403, "origin_foreign", message)


def only_known_parameters(connection: Connection, handler: BaseRouteHandler) -> None:
    """Refuse a query parameter that the endpoint does not have: a filter with a typing error would match everything."""
    known = {
        definition.kwarg_definition.name or name
        for name, definition in handler.parsed_fn_signature.parameters.items()
        if isinstance(definition.kwarg_definition, QueryParameter)
    }
    if unknown := sorted(set(connection.query_params) - known):
        takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
        raise LabRefused(400, "request_invalid", f"{unknown[0]}: no such parameter; {takes}.")


def host_name(host: str) -> str:
    """The name in a `Host` header, without port and brackets; empty for what is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
