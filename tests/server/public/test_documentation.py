"""The OpenAPI document of the public endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chatkey_protocol.names import CONFIG_PATH, MEMBER_TOKEN_PATH, VISITOR_TOKEN_PATH

if TYPE_CHECKING:
    from tests.server.conftest import ServerClient


@pytest.fixture
async def document(client: ServerClient) -> dict[str, Any]:
    """The document as it is served."""
    answer = await client.get("/schema/openapi.json")
    assert answer.status_code == 200
    content: dict[str, Any] = answer.json()
    return content


async def test_it_describes_the_public_endpoints_and_nothing_else(document: dict[str, Any]) -> None:
    assert set(document["paths"]) == {CONFIG_PATH, VISITOR_TOKEN_PATH, MEMBER_TOKEN_PATH}
    assert all(set(operations) == {"get", "head"} for operations in document["paths"].values())


@pytest.mark.contract("4/paths")
async def test_it_names_the_parameters_as_the_contract_does(document: dict[str, Any]) -> None:
    described = {
        path: [(parameter["name"], parameter["in"], parameter["required"]) for parameter in item["get"]["parameters"]]
        for path, item in document["paths"].items()
    }

    assert described == {
        CONFIG_PATH: [("id", "path", True)],
        VISITOR_TOKEN_PATH: [("id", "path", True), ("uid", "query", True)],
        MEMBER_TOKEN_PATH: [("id", "path", True), ("auth", "query", True), ("jkt", "query", True)],
    }


async def test_it_lists_every_status(document: dict[str, Any]) -> None:
    statuses = {path: sorted(item["get"]["responses"]) for path, item in document["paths"].items()}

    assert statuses == {
        CONFIG_PATH: ["200", "304", "400", "403", "404", "503"],
        VISITOR_TOKEN_PATH: ["200", "400", "403", "404", "429", "503"],
        MEMBER_TOKEN_PATH: ["200", "400", "401", "403", "404", "429", "503"],
    }


@pytest.mark.parametrize("path", ["/schema", "/schema/swagger", "/schema/redoc", "/schema/openapi.yaml", "/docs"])
async def test_there_are_no_pages_beside_it(client: ServerClient, path: str) -> None:
    answer = await client.get(path)

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
