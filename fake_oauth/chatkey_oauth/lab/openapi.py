"""Describes the control API in the form of OpenAPI 3.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from chatkey_oauth.engine.http import Answer
from chatkey_oauth.lab.endpoints import BODY, FILTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatkey_oauth.lab.endpoints import Endpoint

TEXT: Final = {"type": "string"}

REFUSED: Final = {
    "description": "The request was refused.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["data", "error"],
                "properties": {
                    "data": {"type": "null"},
                    "error": {
                        "type": "object",
                        "required": ["code", "message"],
                        "properties": {"code": TEXT, "message": TEXT},
                    },
                },
            }
        }
    },
}


def described(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    kinds = [one.kinds[name] for one in endpoints for name in (FILTER, BODY) if name in one.kinds]
    kinds += [one.result for one in endpoints if one.result is not Answer]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schema_of = {repr(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for one in endpoints:
        paths.setdefault(one.path, {})[one.method.lower()] = operation(one, schema_of, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "chatkey fake OAuth: lab", "version": "1"},
        "paths": paths,
        "components": {"schemas": components},
    }


def operation(one: Endpoint, schema_of: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """Describe an endpoint. `schema_of` has the schemas by the `repr` of their types."""
    parameters = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in one.parameters]
    if (wanted := one.kinds.get(FILTER)) is not None:
        members = components[wanted.__name__]["properties"]
        parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in members.items()]
    told: dict[str, Any] = {"summary": one.summary, "parameters": parameters, "responses": {"default": REFUSED}}
    if BODY in one.kinds:
        told["requestBody"] = {"required": True, "content": content(schema_of[repr(one.kinds[BODY])])}
    answered: dict[str, Any] = {"description": one.summary}
    if one.result is not Answer:
        data = {"type": "object", "required": ["data"], "properties": {"data": schema_of[repr(one.result)]}}
        answered["content"] = content(data)
    told["responses"][str(one.status)] = answered
    return told


def content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
