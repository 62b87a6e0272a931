"""What the OpenAPI document says of the public endpoints; their handlers read the raw request and cannot say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec
from litestar import Router
from litestar.connection import ASGIConnection
from litestar.exceptions import NotFoundException
from litestar.handlers import BaseRouteHandler
from litestar.openapi import ResponseSpec
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import OpenAPIType, Operation, Parameter, Schema

from chatkey_server import __version__
from chatkey_server.public.answers import ErrorBody

AnyConnection = ASGIConnection[Any, Any, Any, Any]

DOCUMENT: Final = "/schema/openapi.json"


def openapi() -> OpenAPIConfig:
    """Describe the API as one JSON document, without the framework's pages, which load scripts from elsewhere."""
    return OpenAPIConfig(
        title="chatkey",
        version=__version__,
        description="The public endpoints that the widget calls.",
        render_plugins=[JsonRenderPlugin()],
        openapi_router=Router("/schema", route_handlers=[], include_in_schema=False, guards=[_only_the_document]),
    )


def _only_the_document(connection: AnyConnection, _: BaseRouteHandler) -> None:
    if connection.scope["path"] != DOCUMENT:
        raise NotFoundException


class Channel(msgspec.Struct, frozen=True):
    """A channel of the widget: chat, or the service's own."""

    enabled: bool
    title: str
    greeting: str


class Appearance(msgspec.Struct, frozen=True):
    """How the widget looks."""

    colour: str
    position: str
    locale: str


class Authentication(msgspec.Struct, frozen=True):
    """The social providers the login page shows, and no others."""

    oauth_providers: list[str]


class Configuration(msgspec.Struct, frozen=True):
    """What the configuration endpoint returns (contract 2.2, D-02)."""

    socket_uri: str
    livechat: Channel
    service: Channel
    ui: Appearance
    auth: Authentication


class ConfigurationBody(msgspec.Struct, frozen=True):
    """The body of the configuration endpoint."""

    data: Configuration


def operation(**query: str) -> type[Operation]:
    """Describe an operation on one provider with these required query parameters, each with its meaning."""
    parameters = [_parameter("id", "path", "the provider's id")]
    parameters += [_parameter(name, "query", meaning) for name, meaning in query.items()]

    @dataclass
    class Described(Operation):
        def __post_init__(self) -> None:
            self.parameters = [*parameters]

    return Described


def responses(success: type, *others: int) -> Mapping[int, ResponseSpec]:
    """Describe the answers: 200 with its body, 304 without one, and errors in their envelope."""
    documented = {200: ResponseSpec(success, description="Done.", generate_examples=False)}
    for status in others:
        body = None if status == HTTPStatus.NOT_MODIFIED else ErrorBody
        documented[status] = ResponseSpec(body, description=HTTPStatus(status).phrase, generate_examples=False)
    return documented


def _parameter(name: str, place: str, meaning: str) -> Parameter:
    return Parameter(
        name=name, param_in=place, required=True, description=meaning, schema=Schema(type=OpenAPIType.STRING)
    )
