"""The OpenAPI descriptions of the public endpoints. Litestar cannot derive them, because handlers read raw requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, cast

import msgspec
from litestar import HttpMethod, Request, Router, route
from litestar.connection import ASGIConnection
from litestar.exceptions import NotFoundException
from litestar.handlers import BaseRouteHandler
from litestar.openapi import ResponseSpec
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import (
    OpenAPIHeader,
    OpenAPIMediaType,
    OpenAPIResponse,
    OpenAPIType,
    Operation,
    Reference,
    RequestBody,
    Schema,
)
from litestar.openapi.spec import Parameter as OpenAPIParameter
from litestar.types import ASGIApp

from chatkey import __version__
from chatkey_server.public.answers import Answer, ErrorBody
from chatkey_server.public.parameters import Parameter, Query

AnyConnection = ASGIConnection[Any, Any, Any, Any]

DOCUMENT: Final = "/schema/openapi.json"
NO_QUERY: Final = Query()


def openapi() -> OpenAPIConfig:
    """Return the configuration that serves the API's description as one JSON document.

    The framework's HTML pages are off, because they load scripts from other hosts.
    """
    return OpenAPIConfig(
        title="chatkey",
        version=__version__,
        description="The public endpoints that the widget calls.",
        render_plugins=[_Document()],
        openapi_router=Router("/schema", route_handlers=[], include_in_schema=False, guards=[_only_the_document]),
    )


class _Document(JsonRenderPlugin):
    """Serves the document as JSON. Also answers HEAD requests, for which Litestar has no handler."""

    def receive_router(self, router: Router) -> None:
        @route(list(self.paths), http_method=HttpMethod.HEAD)
        async def head(request: Request[Any, Any, Any]) -> ASGIApp:
            body = self.render(request, request.app.openapi_schema.to_schema())
            return Answer(body, ((b"content-type", self.media_type.encode()),))

        router.register(head)


def _only_the_document(connection: AnyConnection, _: BaseRouteHandler) -> None:
    if connection.scope["path"] != DOCUMENT:
        raise NotFoundException


class Channel(msgspec.Struct, frozen=True):
    """A channel of the widget: the live chat, or the channel of the service."""

    enabled: bool
    title: str
    greeting: str


class Appearance(msgspec.Struct, frozen=True):
    """The appearance of the widget."""

    colour: str
    position: str
    locale: str


class Authentication(msgspec.Struct, frozen=True):
    """The social providers that the login page shows."""

    oauth_providers: list[str]


class Configuration(msgspec.Struct, frozen=True):
    """The result of the configuration endpoint (contract 2.2, D-02)."""

    socket_uri: str
    livechat: Channel
    service: Channel
    ui: Appearance
    auth: Authentication


class ConfigurationBody(msgspec.Struct, frozen=True):
    """The body of the configuration endpoint."""

    data: Configuration


def operation(*path: Parameter, query: Query = NO_QUERY, form: bool = False) -> type[Operation]:
    """Describe an operation and its parameters. With `form`, a POST request has the query's parameters in its body."""
    asked = [_described(parameter, "query") for parameter in query.required]
    asked += [_described(parameter, "query", required=False) for parameter in query.optional]
    parameters = [*(_described(parameter, "path") for parameter in path), *asked]

    @dataclass
    class Described(Operation):
        def __post_init__(self) -> None:
            self.parameters = [*parameters]
            if form and "Post" in (self.operation_id or ""):
                self.request_body = _form(asked)
            written = cast("dict[str, OpenAPIResponse]", self.responses or {})  # Litestar puts no references here
            for status, response in written.items():
                response.headers = HEADERS.get(status)
                if response.content and status == NOT_FOUND:  # a path in another spelling never gets the page
                    response.content.setdefault("application/json", OpenAPIMediaType(_ERROR))

    return Described


def responses(success: type, *others: int) -> Mapping[int, ResponseSpec]:
    """Describe the responses: 200 with a body, 304 without a body, and errors in the error envelope."""
    documented = {200: ResponseSpec(success, description="Done.", generate_examples=False)}
    for status in others:
        body = None if status == HTTPStatus.NOT_MODIFIED else ErrorBody
        documented[status] = ResponseSpec(body, description=HTTPStatus(status).phrase, generate_examples=False)
    return documented


def pages(*statuses: int) -> Mapping[int, ResponseSpec]:
    """Describe the responses in a popup: pages for people, and redirects without a body."""
    return {
        status: ResponseSpec(
            None if status == HTTPStatus.FOUND else str,
            description=HTTPStatus(status).phrase,
            generate_examples=False,
            media_type="text/html",
        )
        for status in statuses
    }


def _header(meaning: str, kind: OpenAPIType = OpenAPIType.STRING) -> OpenAPIHeader:
    return OpenAPIHeader(required=True, description=meaning, schema=Schema(type=kind))


NOT_FOUND: Final = "404"
HEADERS: Final[Mapping[str, dict[str, OpenAPIHeader | Reference]]] = {
    "302": {"Location": _header("the consent page of the social provider")},
    "429": {"Retry-After": _header("seconds to wait", OpenAPIType.INTEGER)},
}
_ERROR: Final = Reference("#/components/schemas/ErrorBody")


def _described(parameter: Parameter, place: str, *, required: bool = True) -> OpenAPIParameter:
    schema = Schema(type=OpenAPIType.STRING, pattern=parameter.pattern)
    return OpenAPIParameter(
        name=parameter.name, param_in=place, required=required, description=parameter.meaning, schema=schema
    )


def _form(parameters: Sequence[OpenAPIParameter]) -> RequestBody:
    members: dict[str, Reference | Schema] = {
        parameter.name: Schema(type=OpenAPIType.STRING) for parameter in parameters
    }
    schema = Schema(type=OpenAPIType.OBJECT, properties=members)
    return RequestBody({"application/x-www-form-urlencoded": OpenAPIMediaType(schema)}, required=True)
