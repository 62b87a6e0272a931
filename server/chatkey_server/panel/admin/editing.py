"""The endpoint with which the panel's pages change rows. Its interface is that of Piccolo's REST endpoints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.panel.admin.editors import Editor, Given, editors

if TYPE_CHECKING:
    from chatkey_server.services import Services

log = structlog.get_logger("chatkey.admin")


def editing(services: Services) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint: POST creates a row, PATCH and PUT change one, and DELETE removes one."""
    of_table = editors(services)

    async def edit(request: Request) -> Response:
        name = request.path_params["table"]
        try:
            provider_id = await _done(request, of_table.get(name, Editor()))
        except msgspec.ValidationError as error:
            return refusal(Refused(Code.PARAMETER_INVALID, f"A value has the wrong type: {error}."))
        except Refused as refused:
            return refusal(refused)
        services.provider_changed(provider_id)
        row = request.path_params.get("row", "new")
        log.info("admin.changed", admin=request.user.display_name, what=name, row=row, by=request.method)
        return JSONResponse({}, HTTPStatus.CREATED if request.method == "POST" else HTTPStatus.OK)

    return edit


def refusal(refused: Refused) -> Response:
    """Convert a refusal into a response that makes Piccolo's page show the message beside a form."""
    if refused.code is Code.METHOD_NOT_ALLOWED:
        return JSONResponse({"detail": refused.message}, HTTPStatus.METHOD_NOT_ALLOWED)
    return JSONResponse({"custom_form_error": refused.message}, HTTPStatus.UNPROCESSABLE_ENTITY)


async def _done(request: Request, editor: Editor) -> str | None:
    if request.method == "POST":
        return await editor.add(await _given(request))
    row_id: str = request.path_params["row"]
    if request.method == "DELETE":
        return await editor.remove(row_id)
    return await editor.change(row_id, await _given(request))


async def _given(request: Request) -> Given:
    return msgspec.json.decode(await request.body(), type=dict[str, str | int | bool | None])
