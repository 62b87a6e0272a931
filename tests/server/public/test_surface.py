"""Tests of the rules for every public endpoint: methods, paths, headers, CORS, and the error format (D-02, D-03)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import AsyncMock

import httpx
import pytest
from litestar.exceptions import InternalServerException

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.providers import Providers

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

UID = "v_NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
CONFIGURATION = "/v1/public/provider/shop"
VISITOR = f"/v1/public/provider/shop/token?uid={UID}"
MEMBER = "/v1/public/provider/shop/member/token?auth=x&jkt=NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
JSON_PATHS = [CONFIGURATION, VISITOR, MEMBER]
OTHER_SPELLINGS = [
    "/v1/public/provider",
    "/v1/public/provider/%2e",
    "/v1/public/provider/sho%70",
    "/v2/public/provider/shop",
    "/assets//sdk.js",
]
"""Spellings that the suite does not try."""


def is_error(answer: httpx.Response, status: int, code: str) -> bool:
    body = answer.json()
    assert set(body) == {"data", "error"}
    assert set(body["error"]) == {"code", "message"}
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    return (answer.status_code, body["data"], body["error"]["code"]) == (status, None, code)


@pytest.mark.contract("D-03/methods")
@pytest.mark.parametrize("path", JSON_PATHS)
async def test_head_answers_as_get_does_without_a_body(client: ServerClient, shop: str, path: str) -> None:
    get = await client.get(path)

    head = await client.head(path)

    assert (head.status_code, head.content) == (get.status_code, b"")
    own = {"x-request-id": ""}
    assert {**head.headers, **own} == {**get.headers, **own}


@pytest.mark.contract("D-03/methods", "5.1/no-credentials")
@pytest.mark.parametrize("path", JSON_PATHS)
async def test_a_preflight_is_answered(client: ServerClient, shop: str, path: str) -> None:
    asked = {"Origin": "https://anywhere.example", "Access-Control-Request-Method": "GET"}

    answer = await client.options(path, headers=asked)

    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-methods"] == "GET, HEAD, OPTIONS"
    assert "access-control-allow-credentials" not in answer.headers
    assert sorted((await client.post(path)).headers["allow"].split(", ")) == ["GET", "HEAD", "OPTIONS"]


@pytest.mark.parametrize("path", ["/v1/public/provider/shop/oauth/google", "/v1/public/oauth/google/callback"])
async def test_the_pages_of_a_social_login_answer_options_and_are_not_for_other_pages_to_read(
    client: ServerClient, shop: str, path: str
) -> None:
    answer = await client.options(path, headers={"Origin": "https://anywhere.example"})

    assert answer.status_code == 204
    assert "GET" in answer.headers["allow"]
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.contract("D-03/provider-unknown")
@pytest.mark.parametrize("provider", ["none", "Shop", "service", "-", "a" * 65, "a.b", "shop.", "a~b"])
async def test_an_unknown_provider_is_404_everywhere(client: ServerClient, shop: str, provider: str) -> None:
    for rest in ("", f"/token?uid={UID}", "/token", "/member/token?auth=x&jkt=x", "/member/token"):
        answer = await client.get(f"/v1/public/provider/{provider}{rest}")

        assert is_error(answer, 404, "provider_unknown")


@pytest.mark.contract("D-03/one-spelling")
@pytest.mark.parametrize(
    "path", ["/agent", "/agent/panel.js", "/admin/", "/admin/public/login/", "/lab/clock", "/assets/sdk.js"]
)
async def test_other_spellings_of_panel_lab_and_asset_paths_are_404(lab: ServerClient, path: str) -> None:
    first = f"/%{ord(path[1]):x}{path[2:]}"
    last = f"{path[:-2]}%{ord(path[-2]):x}{path[-1]}"
    others = [first, last, f"/{path}", path.replace("/", "//"), f"{path}/%2e", f"{path}//", f"{path};", f"{path}%20"]

    answers = {other: (await lab.get(other)).status_code for other in others}

    assert (await lab.get(path)).status_code != 404
    assert set(answers.values()) == {404}, answers


@pytest.mark.contract("D-03/one-spelling")
async def test_another_spelling_of_a_path_is_404(client: ServerClient, shop: str) -> None:
    for path in OTHER_SPELLINGS:
        url = httpx.URL(str(client.base_url)).copy_with(raw_path=path.encode())

        assert is_error(await client.get(url), 404, "not_found"), path


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/v1/socket", "/agent/socket"])
async def test_a_plain_request_to_the_socket_is_426(client: ServerClient, path: str, method: str) -> None:
    answer = await client.request(method, path)

    assert is_error(answer, 426, "method_not_allowed")
    assert answer.headers["upgrade"] == "websocket"
    assert "allow" not in answer.headers
    assert (await client.head(path)).content == b""


@pytest.mark.contract("D-03/unavailable")
@pytest.mark.parametrize("path", JSON_PATHS)
async def test_without_a_database_answers_are_503(
    client: ServerClient, shop: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Refused(Code.UNAVAILABLE, "The database cannot be reached; try again in a moment.")
    monkeypatch.setattr(Providers, "get", AsyncMock(side_effect=away))

    answer = await client.get(path)

    assert is_error(answer, 503, "unavailable")


@pytest.mark.contract("D-02/envelope", "D-02/no-secret-in-errors")
@pytest.mark.parametrize("failure", [ValueError("secret details"), InternalServerException("secret details")])
async def test_an_internal_failure_is_500_without_its_cause(
    client: ServerClient, shop: str, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    monkeypatch.setattr(Providers, "get", AsyncMock(side_effect=failure))

    answer = await client.get(CONFIGURATION)

    assert is_error(answer, 500, "internal")
    assert "secret details" not in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.contract("D-14/lab")
async def test_without_the_lab_there_is_no_lab(client: ServerClient) -> None:
    answers = [
        await client.request(method, path)
        for method in ("GET", "POST", "DELETE")
        for path in ("/lab", "/lab/clock", "/lab/providers", "/lab/events", "/lab/faults", "/lab/reset")
    ]

    assert all(is_error(answer, 404, "not_found") for answer in answers)
