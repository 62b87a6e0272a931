"""Tests of the HTTP interface beyond the contract: other pages, raw requests, headers that name the software."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import httpx
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_peer.key import Json

CONFIGURATION = "{path}"
VISITOR_TOKEN = "{path}/token?uid={uid}"
START = "{path}/oauth/google?origin=https%3A%2F%2Fshop.example"
CALLBACK = "/v1/public/oauth/google/callback?code=x&state=x"
SDK = "/assets/sdk.js"
DOCUMENT = "/schema/openapi.json"

PAGES = [START, CALLBACK, SDK, DOCUMENT]
"""Pages on which the suite says nothing, or less than this file."""

SOFTWARE = ("litestar", "uvicorn", "starlette", "python", "traceback", "httptools", "msgspec")


def address(template: str, shop: Shop) -> str:
    return template.format(path=shop.path, uid=shop.key.uid)


def refused(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and code of an error response, which must have the documented format."""
    body: Json = answer.json()
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert body.keys() == {"data", "error"}
    assert body["data"] is None
    assert body["error"].keys() == {"code", "message"}
    return answer.status_code, body["error"]["code"]


def status_of(response: bytes) -> int:
    return int(response.split(b" ", 2)[1])


def requested(service: Service, target: str, *, method: str = "GET", **headers: str) -> bytes:
    """Send one raw request with the target exactly as given, and return the whole response."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return service.raw("\r\n".join([*lines, "", ""]).encode("latin-1"))


# methods


@pytest.mark.row("HTP-004")
@pytest.mark.parametrize("template", [CONFIGURATION, VISITOR_TOKEN, START])
def test_trace_is_not_echoed(service: Service, shop: Shop, template: str) -> None:
    response = requested(service, address(template, shop), method="TRACE", X_Secret="echo?")

    assert status_of(response) == 405
    assert b"echo?" not in response


# paths


@pytest.mark.row("HTP-014")
def test_an_id_is_compared_byte_by_byte(service: Service) -> None:
    shop = service.shop(id="Shop-One")

    assert service.http.get(shop.path).status_code == 200
    assert refused(service.http.get(shop.path.lower())) == (404, "provider_unknown")


# negotiation


@pytest.mark.row("HTP-026")
def test_what_is_compressed_varies(service: Service) -> None:
    with service.http.stream("GET", SDK, headers={"Accept-Encoding": "gzip, deflate, br, zstd"}) as script:
        assert script.headers["content-encoding"] in {"gzip", "zstd"}
        assert "accept-encoding" in script.headers["vary"].lower()


# the shape of responses


@pytest.mark.row("HTP-037")
@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/nowhere", 404),
        ("GET", "/schema", 404),
        ("GET", "/schema/swagger", 404),
        ("GET", "/schema/redoc", 404),
        ("GET", "/docs", 404),
        ("GET", "/assets/none.js", 404),
        ("GET", "/v1/socket", 426),
        ("GET", "/agent/socket", 426),
        ("GET", "{path}/token", 400),
        ("GET", "{path}/member/token?auth=x&jkt={jkt}", 401),
        ("POST", "{path}", 405),
        ("GET", "/v1/public/provider/nobody", 404),
    ],
)
def test_an_error_has_one_shape_and_names_no_software(
    service: Service, shop: Shop, method: str, target: str, status: int
) -> None:
    answer = service.http.request(method, target.format(path=shop.path, jkt=shop.key.jkt))

    assert refused(answer)[0] == status
    assert not [word for word in SOFTWARE if word in (answer.text + str(answer.headers)).lower()]


@pytest.mark.row("HTP-039", "HTP-043")
@pytest.mark.parametrize("template", PAGES)
def test_every_answer_has_nosniff_and_no_referrer(service: Service, shop: Shop, template: str) -> None:
    answer = service.http.get(address(template, shop))

    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "server" not in answer.headers
    assert "x-powered-by" not in answer.headers


@pytest.mark.row("HTP-047")
def test_50_visitor_tokens_at_once_are_all_good(service: Service, shop: Shop) -> None:
    target = address(VISITOR_TOKEN, shop)

    tokens = service.at_once(target, 50)

    assert [answer.status_code for answer in tokens] == [200] * 50
    for token in {answer.json()["data"]["auth_token"] for answer in tokens}:
        assert service.try_token(token, shop.key).granted
