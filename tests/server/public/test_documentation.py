"""Tests of the OpenAPI document of the public endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chatkey_protocol.names import (
    CONFIG_PATH,
    MEMBER_TOKEN_PATH,
    OAUTH_CALLBACK_PATH,
    OAUTH_START_PATH,
    VISITOR_TOKEN_PATH,
)

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient


@pytest.fixture
async def document(client: ServerClient) -> dict[str, Any]:
    answer = await client.get("/schema/openapi.json")
    assert answer.status_code == 200
    content: dict[str, Any] = answer.json()
    return content


ASSET = "/assets/{name}"
PATHS = {CONFIG_PATH, VISITOR_TOKEN_PATH, MEMBER_TOKEN_PATH, OAUTH_START_PATH, OAUTH_CALLBACK_PATH, ASSET}


async def test_it_describes_the_public_endpoints_and_nothing_else(document: dict[str, Any]) -> None:
    methods = {path: {"get", "head"} for path in PATHS} | {OAUTH_CALLBACK_PATH: {"get", "head", "post"}}

    assert {path: set(operations) for path, operations in document["paths"].items()} == methods


@pytest.mark.contract("4/paths")
async def test_it_names_the_parameters_as_the_contract_does(document: dict[str, Any]) -> None:
    described = {
        path: [(parameter["name"], parameter["in"], parameter["required"]) for parameter in item["get"]["parameters"]]
        for path, item in document["paths"].items()
    }
    provider, social = ("id", "path", True), ("social", "path", True)

    assert described == {
        CONFIG_PATH: [provider],
        VISITOR_TOKEN_PATH: [provider, ("uid", "query", True)],
        MEMBER_TOKEN_PATH: [provider, ("auth", "query", True), ("jkt", "query", True)],
        OAUTH_START_PATH: [
            *(provider, social, ("origin", "query", True)),
            *((name, "query", False) for name in ("jkt", "nonce", "prompt")),
        ],
        OAUTH_CALLBACK_PATH: [social, *((name, "query", False) for name in ("state", "code", "iss", "error"))],
        ASSET: [("name", "path", True)],
    }


async def test_the_callback_may_be_posted_to_as_a_form(document: dict[str, Any]) -> None:
    callback = document["paths"][OAUTH_CALLBACK_PATH]

    (form,) = callback["post"]["requestBody"]["content"].items()

    assert form[0] == "application/x-www-form-urlencoded"
    assert form[1]["schema"]["properties"].keys() == {"state", "code", "iss", "error"}
    assert "requestBody" not in callback["get"]


async def test_it_lists_every_status(document: dict[str, Any]) -> None:
    statuses = {path: " ".join(sorted(item["get"]["responses"])) for path, item in document["paths"].items()}

    assert statuses == {
        CONFIG_PATH: "200 304 400 403 404 503",
        VISITOR_TOKEN_PATH: "200 400 403 404 429 503",
        MEMBER_TOKEN_PATH: "200 400 401 403 404 429 503",
        OAUTH_START_PATH: "302 400 403 404 429 503",
        OAUTH_CALLBACK_PATH: "200 400 403 404 413 415 429 502 503",
        ASSET: "200 304 400 404",
    }


async def test_the_document_lists_the_guaranteed_headers(document: dict[str, Any]) -> None:
    answers = document["paths"][OAUTH_START_PATH]["get"]["responses"]

    assert {status: list(answer["headers"]) for status, answer in answers.items() if answer.get("headers")} == {
        "302": ["Location"],
        "429": ["Retry-After"],
    }
