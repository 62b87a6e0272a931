"""The HTTP interface: methods, paths, parameters, headers, caches, the shape of responses (contract 4, D-02, D-03)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_conform.making.honest import Json, Maker
CONFIGURATION = "{path}"
VISITOR_TOKEN = "{path}/token?uid={uid}"
MEMBER_TOKEN = "{path}/member/token?auth={auth}&jkt={jkt}"
START = "{path}/oauth/google?origin=https%3A%2F%2Fshop.example"
CALLBACK = "/v1/public/oauth/google/callback?code=x&state=x"
SDK = "/assets/sdk.js"
DOCUMENT = "/schema/openapi.json"

JSON_ENDPOINTS = [CONFIGURATION, VISITOR_TOKEN, MEMBER_TOKEN]
TOKENS = [VISITOR_TOKEN, MEMBER_TOKEN]
HONEST = {CONFIGURATION: 200, VISITOR_TOKEN: 200, MEMBER_TOKEN: 200, START: 302, CALLBACK: 400, SDK: 200, DOCUMENT: 200}
EVERYWHERE = list(HONEST)
SOFTWARE = ("litestar", "uvicorn", "starlette", "python", "traceback", "httptools", "msgspec")


def address(template: str, shop: Shop) -> str:
    """Return the path and query of an honest request."""
    return template.format(path=shop.path, uid=shop.key.uid, auth=shop.identity_token(), jkt=shop.key.jkt)


def refused(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and code of an error, after checking that it has the documented shape."""
    body: Json = answer.json()
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert body.keys() == {"data", "error"}
    assert body["data"] is None
    assert body["error"].keys() == {"code", "message"}
    return answer.status_code, body["error"]["code"]


def status_of(response: bytes) -> int:
    """Return the status of a raw response."""
    return int(response.split(b" ", 2)[1])


def requested(service: Service, target: str, *, method: str = "GET", **headers: str) -> bytes:
    """Send one raw request with the target exactly as given, and return everything that comes back."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return service.raw("\r\n".join([*lines, "", ""]).encode("latin-1"))


# methods


@pytest.mark.row("HTP-001")
@pytest.mark.parametrize("template", EVERYWHERE)
def test_head_is_get_without_a_body(service: Service, shop: Shop, template: str) -> None:
    target = address(template, shop)

    get, head = service.http.get(target), service.http.head(target)

    assert get.status_code == head.status_code == HONEST[template]
    assert head.content == b""
    assert head.headers["content-type"] == get.headers["content-type"] if get.content else True


@pytest.mark.row("HTP-003")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"])
@pytest.mark.parametrize("template", EVERYWHERE)
def test_another_method_is_405_and_allow_says_which(service: Service, shop: Shop, template: str, method: str) -> None:
    if (template, method) == (CALLBACK, "POST"):  # Apple's form_post (contract 4.5)
        method = "PUT"

    answer = service.http.request(method, address(template, shop))

    assert refused(answer) == (405, "method_not_allowed")
    allowed = set(answer.headers["allow"].split(", "))
    assert {"GET", "HEAD"} <= allowed
    assert method not in allowed


@pytest.mark.row("HTP-004")
@pytest.mark.parametrize("template", [CONFIGURATION, MEMBER_TOKEN, START])
def test_trace_is_not_echoed(service: Service, shop: Shop, template: str) -> None:
    response = requested(service, address(template, shop), method="TRACE", X_Secret="echo?")

    assert status_of(response) == 405
    assert b"echo?" not in response


@pytest.mark.row("HTP-005")
@pytest.mark.parametrize("method", ["get", "FOO", "GET\t", ""])
def test_a_method_that_is_none_is_400(service: Service, shop: Shop, method: str) -> None:
    response = requested(service, shop.path, method=method)

    assert status_of(response) == 400
    assert not [word for word in SOFTWARE if word in response.decode().lower()]
    assert status_of(requested(service, shop.path)) == 200


@pytest.mark.row("HTP-006")
@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"])
def test_a_method_cannot_be_overridden(service: Service, shop: Shop, name: str) -> None:
    assert refused(service.http.post(shop.path, headers={name: "GET"})) == (405, "method_not_allowed")
    assert refused(service.http.post(f"{shop.path}?_method=GET")) == (405, "method_not_allowed")
    assert service.http.get(f"{shop.path}?_method=DELETE", headers={name: "DELETE"}).status_code == 200


# paths


@pytest.mark.parametrize(
    "bend",
    [
        pytest.param(lambda path: path + "/", id="HTP-007-configuration"),
        pytest.param(lambda path: path + "/token/", id="HTP-007-token"),
        pytest.param(lambda path: path + "/oauth/google/", id="HTP-007-start"),
        pytest.param(lambda _: "/schema/openapi.json/", id="HTP-007-document"),
        pytest.param(lambda path: "/" + path, id="HTP-008-first"),
        pytest.param(lambda path: path.replace("/provider/", "/provider//"), id="HTP-008-before-the-id"),
        pytest.param(lambda path: path.replace("/v1/", "//v1/"), id="HTP-008-version"),
        pytest.param(lambda path: path + "//token", id="HTP-008-before-token"),
        pytest.param(lambda _: "/v1/public/provider//token", id="HTP-009"),
        pytest.param(lambda _: "/v1/public/provider/", id="HTP-009-nothing-behind"),
        pytest.param(lambda path: path.rpartition("/")[0] + "/..", id="HTP-010-dots"),
        pytest.param(lambda path: path.rpartition("/")[0] + "/.", id="HTP-010-dot"),
        pytest.param(lambda path: path.rpartition("/")[0] + "/%2e%2e", id="HTP-010-encoded"),
        pytest.param(lambda path: path.replace("/provider/", "/provider/x/../"), id="HTP-010-there-and-back"),
        pytest.param(lambda path: path + "%2Ftoken", id="HTP-011"),
        pytest.param(lambda path: path + "%252Ftoken", id="HTP-012"),
        pytest.param(lambda path: path + "%5Cb", id="HTP-013-backslash"),
        pytest.param(lambda path: path + "\\b", id="HTP-013-bare-backslash"),
        pytest.param(lambda path: path + ";b", id="HTP-013-semicolon"),
        pytest.param(lambda path: path + "%00b", id="HTP-013-nul"),
        pytest.param(lambda path: path + "%ff", id="HTP-013-not-utf-8"),
        pytest.param(lambda path: path + "%F0%9F%98%80", id="HTP-013-emoji"),
        pytest.param(lambda path: path + "a" * 10_240, id="HTP-013-10-kb"),
        pytest.param(lambda path: path.replace("provider", "pro%76ider"), id="HTP-012-encoded-letter"),
        pytest.param(lambda path: path + "/oauth/goo%67le", id="HTP-012-encoded-social"),
        pytest.param(lambda path: path.replace("/v1/", "/V1/"), id="HTP-014-version"),
        pytest.param(lambda path: path.replace("provider", "Provider"), id="HTP-014-word"),
    ],
)
@pytest.mark.contract("D-03/one-spelling")
def test_a_path_has_one_spelling(service: Service, shop: Shop, bend: Callable[[str], str]) -> None:
    query = f"?uid={shop.key.uid}&origin=https%3A%2F%2Fshop.example"

    assert status_of(requested(service, f"{shop.path}/token{query}")) == 200
    response = requested(service, bend(shop.path) + query)

    head, _, body = response.partition(b"\r\n\r\n")
    assert status_of(response) == 404
    assert b"content-type: application/json" in head
    assert json.loads(body)["error"]["code"] in {"not_found", "provider_unknown"}


@pytest.mark.row("HTP-014")
def test_an_id_is_compared_byte_by_byte(service: Service) -> None:
    shop = service.shop(id="Shop-One")

    assert service.http.get(shop.path).status_code == 200
    assert refused(service.http.get(shop.path.lower())) == (404, "provider_unknown")


# parameters


@pytest.mark.parametrize(
    ("query", "code"),
    [
        pytest.param("", "parameter_missing", id="HTP-016"),
        pytest.param("uid=", "parameter_missing", id="HTP-016-empty"),
        pytest.param("uid={uid}&uid={uid}", "parameter_repeated", id="HTP-018"),
        pytest.param("uid={uid}&u%69d={uid}", "parameter_repeated", id="HTP-018-encoded"),
        pytest.param("uid[]={uid}", "parameter_missing", id="HTP-019-brackets"),
        pytest.param("UID={uid}", "parameter_missing", id="HTP-019-case"),
        pytest.param("uid={uid};uid={uid}", "parameter_invalid", id="HTP-019-semicolon"),
        pytest.param("uid={uid}%26auth%3Db", "parameter_invalid", id="HTP-019-encoded-ampersand"),
        pytest.param("uid=customer-7", "parameter_invalid", id="HTP-020-not-derived"),
        pytest.param("uid={jkt}", "parameter_invalid", id="HTP-020-no-prefix"),
        pytest.param("uid=V_{jkt}", "parameter_invalid", id="HTP-020-case"),
        pytest.param("uid={uid}A", "parameter_invalid", id="HTP-020-too-long"),
        pytest.param("uid={uid}%0A", "parameter_invalid", id="HTP-020-newline"),
        pytest.param("uid=v_google%3A42", "parameter_invalid", id="HTP-020-social"),
    ],
)
def test_a_visitor_token_is_for_one_well_formed_uid(service: Service, shop: Shop, query: str, code: str) -> None:
    path = f"{shop.path}/token?"

    answer = service.http.get(path + query.format(uid=shop.key.uid, jkt=shop.key.jkt))

    assert service.http.get(f"{path}uid={shop.key.uid}").status_code == 200
    assert refused(answer) == (400, code)
    assert "uid" in answer.json()["error"]["message"]


@pytest.mark.row("HTP-018")
@pytest.mark.parametrize("name", ["auth", "jkt"])
def test_a_repeated_parameter_of_the_exchange_is_400(service: Service, shop: Shop, name: str) -> None:
    target = address(MEMBER_TOKEN, shop)

    assert service.http.get(target).status_code == 200
    assert refused(service.http.get(f"{target}&{name}=x")) == (400, "parameter_repeated")


# negotiation, CORS, caches


@pytest.mark.row("HTP-025")
@pytest.mark.contract("D-20/negotiation")
@pytest.mark.parametrize("accept", ["text/html", "application/xml", "*/*;q=0", "nonsense"])
@pytest.mark.parametrize("template", JSON_ENDPOINTS)
def test_an_answer_is_json_whatever_is_accepted(service: Service, shop: Shop, template: str, accept: str) -> None:
    answer = service.http.get(address(template, shop), headers={"Accept": accept})

    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert refused(service.http.get("/v1/public/provider/nobody", headers={"Accept": accept}))[0] == 404


@pytest.mark.row("HTP-026")
def test_what_holds_a_token_is_never_compressed_and_what_is_compressed_varies(service: Service, shop: Shop) -> None:
    accepted = {"Accept-Encoding": "gzip, deflate, br, zstd"}

    for template in JSON_ENDPOINTS:
        assert "content-encoding" not in service.http.get(address(template, shop), headers=accepted).headers
    with service.http.stream("GET", SDK, headers=accepted) as script:
        assert script.headers["content-encoding"] in {"gzip", "zstd"}
        assert "accept-encoding" in script.headers["vary"].lower()


@pytest.mark.row("HTP-029", "HTP-030")
@pytest.mark.parametrize("origin", ["https://shop.example", "https://evil.example", "null"])
@pytest.mark.parametrize("template", [*JSON_ENDPOINTS, SDK, DOCUMENT, CALLBACK])
def test_any_page_may_ask_and_none_with_credentials(service: Service, shop: Shop, template: str, origin: str) -> None:
    target = address(template, shop)
    preflight = {"Origin": origin, "Access-Control-Request-Method": "GET"}

    answers = [service.http.get(target, headers={"Origin": origin}), service.http.get(target)]
    answers.append(service.http.options(target, headers=preflight))

    for answer in answers:
        assert "access-control-allow-credentials" not in answer.headers
        assert answer.headers.get("access-control-allow-origin", "*") == "*"
    if template in JSON_ENDPOINTS:
        assert [answer.headers["access-control-allow-origin"] for answer in answers] == ["*"] * 3


@pytest.mark.row("HTP-030", "HTP-031")
def test_the_configuration_is_the_same_for_every_origin_and_kept_at_the_edge_for_60_seconds(
    service: Service, shop: Shop
) -> None:
    one, other = (service.http.get(shop.path, headers={"Origin": f"https://{name}.example"}) for name in "ab")

    assert one.content == other.content
    own = {"date": "", "x-request-id": ""}
    assert {**one.headers, **own} == {**other.headers, **own}
    assert one.headers["cache-control"] == "public, max-age=0, s-maxage=60"


@pytest.mark.row("HTP-032")
@pytest.mark.parametrize("template", TOKENS)
def test_a_token_is_not_stored(service: Service, shop: Shop, template: str) -> None:
    target = address(template, shop)

    granted, denied = service.http.get(target), service.http.get(target.partition("?")[0])

    assert (granted.status_code, denied.status_code) == (200, 400)
    assert granted.headers["cache-control"] == denied.headers["cache-control"] == "no-store"


@pytest.mark.row("HTP-033")
def test_the_configuration_holds_nothing_secret(service: Service) -> None:
    shop = service.shop()

    answer = service.http.get(shop.path)

    assert answer.json()["data"]["auth"] == {"oauth_providers": ["google"]}
    for secret in (shop.secret.decode(), "shop-client", "shop-client-secret", "eyJ"):
        assert secret not in answer.text + str(answer.headers)
    assert not names_in(answer.json()) & {"secret_key", "client_secret", "client_id", "p8", "key_id", "team_id"}


def names_in(value: Any) -> set[str]:
    """Return the names of all members, at any depth."""
    if isinstance(value, dict):
        return value.keys() | {name for part in value.values() for name in names_in(part)}
    return {name for part in value for name in names_in(part)} if isinstance(value, list) else set()


@pytest.mark.row("HTP-034")
def test_the_configuration_is_revalidated_and_never_sent_in_part(service: Service, shop: Shop) -> None:
    whole = service.http.get(shop.path)
    etag = whole.headers["etag"]

    tags = (etag, f"W/{etag}", f'"x", {etag}', "*")
    known = [service.http.get(shop.path, headers={"If-None-Match": tag}) for tag in tags]
    changed = service.http.get(shop.path, headers={"If-None-Match": '"another"'})
    part = service.http.get(shop.path, headers={"Range": "bytes=0-9"})

    assert [(answer.status_code, answer.content) for answer in known] == [(304, b"")] * 4
    assert (changed.status_code, changed.content) == (part.status_code, part.content) == (200, whole.content)


@pytest.mark.row("HTP-035")
def test_a_change_is_seen_after_60_seconds(service: Service) -> None:
    shop = service.shop(livechat_title="Before")
    before = service.http.get(shop.path)
    service.lab.change_provider(shop.id, livechat_title="After")

    service.advance(61)
    after = service.http.get(shop.path, headers={"If-None-Match": before.headers["etag"]})

    assert before.json()["data"]["livechat"]["title"] == "Before"
    assert after.status_code == 200
    assert after.json()["data"]["livechat"]["title"] == "After"


# the shape of responses


@pytest.mark.row("HTP-036")
@pytest.mark.parametrize("template", JSON_ENDPOINTS)
def test_a_success_is_wrapped_in_data(service: Service, shop: Shop, template: str) -> None:
    answer = service.http.get(address(template, shop))

    assert answer.json().keys() == {"data"}
    assert answer.headers["content-type"] == "application/json"


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


@pytest.mark.row("HTP-038")
def test_an_unknown_business_is_404_everywhere(service: Service, shop: Shop) -> None:
    for template in JSON_ENDPOINTS:
        assert service.http.get(address(template, shop)).status_code == 200
        answer = service.http.get(address(template, shop).replace(shop.id, "nobody"))
        assert refused(answer) == (404, "provider_unknown")
    page = service.http.get(address(START, shop).replace(shop.id, "nobody"))
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "provider_unknown" in page.text


@pytest.mark.row("HTP-039", "HTP-043")
@pytest.mark.parametrize("template", EVERYWHERE)
def test_every_answer_is_kept_to_its_type_and_tells_no_referrer(service: Service, shop: Shop, template: str) -> None:
    answer = service.http.get(address(template, shop))

    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "server" not in answer.headers
    assert "x-powered-by" not in answer.headers


# headers that name another host or address


@pytest.mark.row("HTP-040", "HTP-041")
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:99"},
        {"Host": "127.0.0.1"},
        {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"},
        {"Forwarded": "for=192.0.2.1;host=evil.example;proto=https"},
        {"X-Original-URL": "/lab/clock", "X-Rewrite-URL": "/lab/clock"},
    ],
    ids=["host", "host-and-port", "address", "x-forwarded", "forwarded", "rewritten"],
)
def test_no_header_changes_an_address_that_is_handed_out(
    service: Service, shop: Shop, headers: Mapping[str, str]
) -> None:
    configuration = service.http.get(shop.path, headers=headers)
    token = service.http.get(address(VISITOR_TOKEN, shop), headers=headers)
    start = service.http.get(address(START, shop), headers=headers)

    assert configuration.content == service.http.get(shop.path).content
    assert configuration.json()["data"]["socket_uri"] == service.socket_uri
    assert token.json()["data"]["socket_uri"] == service.socket_uri
    sent_to = parse_qs(urlsplit(start.headers["location"]).query)
    assert sent_to["redirect_uri"] == [f"{service.base_url}/v1/public/oauth/google/callback"]


@pytest.mark.row("HTP-040")
def test_an_absolute_target_is_read_as_its_path(service: Service, shop: Shop) -> None:
    response = requested(service, f"http://evil.example{shop.path}")

    assert status_of(response) == 200
    assert b"evil.example" not in response


@pytest.mark.row("HTP-040")
@pytest.mark.parametrize("host", ["a b<c>", "evil.example/path", "user@evil.example"])
def test_a_host_that_is_none_is_400_or_changes_nothing(service: Service, shop: Shop, host: str) -> None:
    response = service.raw(f"GET {shop.path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())

    assert status_of(response) in {200, 400}
    assert b"evil.example" not in response


@pytest.mark.row("HTP-042")
def test_the_access_log_shows_no_token(service: Service, shop: Shop) -> None:
    mark = service.process.mark
    target = address(MEMBER_TOKEN, shop)

    assert service.http.get(target).status_code == 200
    line = service.logged(f"{shop.path}/member/token?", since=mark)

    assert "auth=[redacted]" in line
    assert quote(shop.key.jkt) not in line
    assert "eyJ" not in line


@pytest.mark.row("HTP-044")
@pytest.mark.parametrize("template", JSON_ENDPOINTS)
def test_a_callback_parameter_is_passed_over(service: Service, shop: Shop, template: str) -> None:
    target = address(template, shop)

    answer = service.http.get(f"{target}{'&' if '?' in target else '?'}callback=alert&jsonp=alert")

    assert answer.status_code == 200
    assert (answer.headers["content-type"], answer.headers["x-content-type-options"]) == ("application/json", "nosniff")
    assert answer.text.startswith('{"data":')
    assert "alert" not in answer.text


# visitor tokens


@pytest.mark.row("HTP-047")
def test_50_visitor_tokens_at_once_are_all_good(service: Service, shop: Shop) -> None:
    target = address(VISITOR_TOKEN, shop)

    tokens = service.at_once(target, 50)

    assert [answer.status_code for answer in tokens] == [200] * 50
    for token in {answer.json()["data"]["auth_token"] for answer in tokens}:
        assert service.try_token(token, shop.key).granted


@pytest.mark.row("HTP-048")
@pytest.mark.parametrize("hour", ["an ordinary minute", "midnight"])
def test_a_visitor_token_lives_to_the_end_of_the_minute_after_its_own(service: Service, shop: Shop, hour: str) -> None:
    """F064: the token ends at that second. It is not accepted a day later either, when the minute has the same key."""
    span = 86_400 if hour == "midnight" else 60
    service.advance((span - 5 - service.now()) % span)  # five seconds before the minute, or the UTC day, ends
    token = shop.visitor_token()

    assert service.try_token(token, shop.key).granted
    service.advance(6)
    assert service.try_token(token, shop.key).granted
    service.advance(45)
    assert service.try_token(token, shop.key).granted
    service.advance(14)
    assert service.try_token(token, shop.key).refusal == ("token_expired", 4419)
    service.advance(86_400 - 65)  # the same minute of the next day, which has the same key
    assert service.try_token(token, shop.key).refusal == ("token_expired", 4419)


@pytest.mark.row("HTP-048")
@pytest.mark.parametrize("off", [-60, 60])
def test_a_visitor_token_under_the_key_of_another_minute_is_refused(
    service: Service, shop: Shop, make: Maker, off: int
) -> None:
    claims = shop.visitor_claims()

    assert service.try_token(shop.sign(claims, key=make.minute_key(shop.secret, claims["iat"])), shop.key).granted
    forged = shop.sign(claims, key=make.minute_key(shop.secret, claims["iat"] + off))
    assert service.try_token(forged, shop.key).refusal == ("token_signature", 4401)


@pytest.mark.row("HTP-048")
def test_a_visitor_token_of_a_minute_that_has_not_come_is_refused(service: Service, shop: Shop, make: Maker) -> None:
    service.advance((30 - service.now()) % 60)
    soon = (shop.now // 60 + 1) * 60
    claims = shop.visitor_claims(iat=soon, exp=soon + 60)

    ended = service.try_token(shop.sign(claims, key=make.minute_key(shop.secret, soon)), shop.key)

    assert ended.refusal == ("token_not_yet_valid", 4401)
