"""Checks the query parameters of the lab's endpoints. Unknown parameters are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar.params import QueryParameter

from chatkey_oauth.lab.refusals import LabRefused

if TYPE_CHECKING:
    from litestar.connection import ASGIConnection
    from litestar.handlers import BaseRouteHandler

    Connection = ASGIConnection[Any, Any, Any, Any]


def only_known_parameters(connection: Connection, handler: BaseRouteHandler) -> None:
    """Refuse an unknown query parameter. Without this check, a misspelt filter would match everything."""
    known = {
        definition.kwarg_definition.name or name
        for name, definition in handler.parsed_fn_signature.parameters.items()
        if isinstance(definition.kwarg_definition, QueryParameter)
    }
    if unknown := sorted(set(connection.query_params) - known):
        takes = f"the parameters are {', '.join(sorted(known))}" if known else "there are no parameters"
        raise LabRefused(400, "request_invalid", f"{unknown[0]}: no such parameter; {takes}.")
