"""Tests of the rules for every public endpoint: methods, paths, headers, CORS, and the error format (D-02, D-03)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import AsyncMock

import httpx
import pytest
from litestar.exceptions import InternalServerException
from tests.server.in_process import ServerSocket

from chatkey_protocol.codes import Close, Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage import admin
from chatkey_server.storage.providers import Providers

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

UID = "v_NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
CONFIGURATION = "/v1/public/provider/shop"
VISITOR = f"/v1/public/provider/shop/token?uid={UID}"
MEMBER = "/v1/public/provider/shop/member/token?auth=x&jkt=NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
JSON_PATHS = [CONFIGURATION, VISITOR, MEMBER]
OTHER_SPELLINGS = [
    "/v1/public/provider/shop/",
    f"/v1/public/provider/shop/token/?uid={UID}",
    "//v1/public/provider/shop",
    "/v1//public/provider/shop",
    "/v1/public/provider//shop",
    f"/v1/public/provider//token?uid={UID}",
    "/v1/public/provider/",
    "/v1/public/provider",
    "/v1/public/provider/%2e%2e",
    "/v1/public/provider/%2e",
    "/v1/public/provider/a%2Fb",
    f"/v1/public/provider/shop%2Ftoken?uid={UID}",
    "/v1/public/provider/a%252Fb",
    "/v1/public/provider/a%5Cb",
    "/v1/public/provider/a;b",
    "/v1/public/provider/shop%00",
    "/v1/public/provider/%ff",
    "/v1/public/provider/%F0%9F%9B%92",
    "/v1/public/provider/sho%70",
    "/V1/public/provider/shop",
    "/v1/Public/provider/shop",
    f"/v1/public/provider/{'a' * 10_000}/none",
    "/v2/public/provider/shop",
    "/lab/",
    "/assets//sdk.js",
    "/",
]


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


@pytest.mark.contract("D-02/envelope", "D-03/methods")
@pytest.mark.parametrize("path", JSON_PATHS)
async def test_other_methods_are_405_with_allow(client: ServerClient, shop: str, path: str) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "FOO"):
        answer = await client.request(method, path, headers={"X-Test": "echo?"})

        assert is_error(answer, 405, "method_not_allowed")
        assert sorted(answer.headers["allow"].split(", ")) == ["GET", "HEAD", "OPTIONS"]
        assert "echo?" not in answer.text


async def test_no_header_overrides_the_method(client: ServerClient, shop: str) -> None:
    override = {"X-HTTP-Method-Override": "DELETE", "X-Method-Override": "DELETE", "X-HTTP-Method": "DELETE"}

    answer = await client.get(CONFIGURATION, headers=override)

    assert answer.status_code == 200


@pytest.mark.contract("5.1/no-credentials")
@pytest.mark.parametrize("path", JSON_PATHS)
async def test_pages_anywhere_may_read_without_credentials(client: ServerClient, shop: str, path: str) -> None:
    answer = await client.get(path, headers={"Origin": "https://anywhere.example"})

    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers
    assert "vary" not in answer.headers


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


@pytest.mark.parametrize("path", ["/v1/public/provider/shop/oauth/google", "/v1/public/oauth/google/callback"])
async def test_the_pages_of_a_social_login_answer_options_and_are_not_for_other_pages_to_read(
    client: ServerClient, shop: str, path: str
) -> None:
    answer = await client.options(path, headers={"Origin": "https://anywhere.example"})

    assert answer.status_code == 204
    assert "GET" in answer.headers["allow"]
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("path", [*JSON_PATHS, "/nowhere", "/v1/public/provider/none", "/v1/public/provider//token"])
async def test_every_answer_has_the_protecting_headers_and_names_no_software(
    client: ServerClient, shop: str, path: str
) -> None:
    answer = await client.get(path)

    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "server" not in answer.headers
    assert "litestar" not in answer.text.lower()


@pytest.mark.contract("D-03/provider-unknown")
@pytest.mark.parametrize("provider", ["none", "Shop", "service", "-", "a" * 65, "a.b", "shop.", "a~b"])
async def test_an_unknown_provider_is_404_everywhere(client: ServerClient, shop: str, provider: str) -> None:
    for rest in ("", f"/token?uid={UID}", "/token", "/member/token?auth=x&jkt=x", "/member/token"):
        answer = await client.get(f"/v1/public/provider/{provider}{rest}")

        assert is_error(answer, 404, "provider_unknown")


@pytest.mark.contract("D-03/provider-off")
@pytest.mark.parametrize("path", JSON_PATHS)
async def test_a_provider_that_is_switched_off_is_403(client: ServerClient, shop: str, path: str) -> None:
    await admin.update_provider(shop, now=client.services.clock(), enabled=False)

    answer = await client.get(path)

    assert is_error(answer, 403, "provider_off")


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
        raw_path, _, query = path.partition("?")
        url = httpx.URL(str(client.base_url)).copy_with(raw_path=f"{raw_path}?{query}".rstrip("?").encode())

        answer = await client.get(url)

        assert is_error(answer, 404, "not_found"), path


@pytest.mark.contract("D-03/one-spelling")
@pytest.mark.parametrize("path", ["//v1/socket", "/v1/socket/", "/v1/%73ocket"])
async def test_a_socket_at_another_spelling_of_its_path_is_never_accepted(client: ServerClient, path: str) -> None:
    socket = ServerSocket(client.app, path, {}, [])

    assert await socket.next() == {"type": "closed", "code": Close.BAD_FRAME, "reason": None}
    await socket.running


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/v1/socket", "/agent/socket"])
async def test_a_plain_request_to_the_socket_is_426(client: ServerClient, path: str, method: str) -> None:
    answer = await client.request(method, path)

    assert is_error(answer, 426, "method_not_allowed")
    assert answer.headers["upgrade"] == "websocket"
    assert "allow" not in answer.headers


async def test_answers_are_json_for_every_accept_header(client: ServerClient, shop: str) -> None:
    for accept in ("text/html", "application/xml", "*/*;q=0", "application/json;q=0"):
        answer = await client.get(CONFIGURATION, headers={"Accept": accept, "Accept-Encoding": "gzip, br, zstd"})

        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert "content-encoding" not in answer.headers


async def test_no_header_of_a_request_changes_an_address_in_the_answer(client: ServerClient, shop: str) -> None:
    headers = {
        "Host": "evil.example",
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
        "Forwarded": "host=evil.example;proto=https",
    }

    answer = await client.get(CONFIGURATION, headers=headers)

    assert answer.json()["data"]["socket_uri"] == "ws://localhost:8800/v1/socket"


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
