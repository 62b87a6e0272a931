"""Tests of the rules for every public endpoint: methods, paths, headers, CORS, and the error format (D-02, D-03)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import AsyncMock

import pytest
from litestar.exceptions import InternalServerException

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.providers import Providers

if TYPE_CHECKING:
    import httpx
    from tests.server.in_process import ServerClient

UID = "v_NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
CONFIGURATION = "/v1/public/provider/shop"
VISITOR = f"/v1/public/provider/shop/token?uid={UID}"
MEMBER = "/v1/public/provider/shop/member/token?auth=x&jkt=NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
JSON_PATHS = [CONFIGURATION, VISITOR, MEMBER]


def is_error(answer: httpx.Response, status: int, code: str) -> bool:
    body = answer.json()
    assert set(body) == {"data", "error"}
    assert set(body["error"]) == {"code", "message"}
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    return (answer.status_code, body["data"], body["error"]["code"]) == (status, None, code)


@pytest.mark.parametrize("path", ["/v1/public/provider/shop/oauth/google", "/v1/public/oauth/google/callback"])
async def test_the_pages_of_a_social_login_answer_options_and_are_not_for_other_pages_to_read(
    client: ServerClient, shop: str, path: str
) -> None:
    answer = await client.options(path, headers={"Origin": "https://anywhere.example"})

    assert answer.status_code == 204
    assert "GET" in answer.headers["allow"]
    assert "access-control-allow-origin" not in answer.headers


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
