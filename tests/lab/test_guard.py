"""Tests of a lab's access control: peers, origins and tokens. Each refused request is paired with an accepted one."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from chatkey_lab.guard import FORM, LabGuard, bearer, check_token

Ask = Callable[..., Awaitable[tuple[int, str]]]

TOKEN = "a-token-of-the-lab-0123456789"
HERE = {"host": "localhost:8800"}
JSON = {"content-type": "application/json", "content-length": "2"}


async def lab(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b'{"data": {}}'})


async def ask(
    guard: LabGuard,
    headers: dict[str, str] | list[tuple[str, str]],
    *,
    method: str = "GET",
    path: str = "/lab/clock",
    peer: str | None = "127.0.0.1",
    scheme: str = "http",
) -> tuple[int, str]:
    """Send a request through the guard, and return the status and error code of the response."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    pairs = list(headers.items()) if isinstance(headers, dict) else headers
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "scheme": scheme,
        "client": (peer, 50_000) if peer is not None else None,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in pairs],
    }
    await guard(scope, None, send)
    error = json.loads(sent[1]["body"]).get("error", {})
    return sent[0]["status"], error.get("code", "")


PASSED = (200, "")


@pytest.fixture
def here() -> LabGuard:
    """The access control of a lab without a token. Only this machine may use the lab."""
    return LabGuard(lab)


@pytest.fixture
def anywhere() -> LabGuard:
    """The access control of a lab with a token. Other machines may use the lab too."""
    return LabGuard(lab, token=TOKEN)


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize("peer", ["192.0.2.7", "::ffff:192.0.2.7", "172.17.0.1", "testclient", "", None])
async def test_a_peer_elsewhere_is_refused(here: LabGuard, peer: str | None) -> None:
    assert await ask(here, HERE, peer=peer) == (403, "peer_foreign")


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.1", "::1"])
async def test_a_peer_of_this_machine_passes(here: LabGuard, peer: str) -> None:
    assert await ask(here, HERE, peer=peer) == PASSED


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize(
    "host",
    [
        "evil.test",
        "evil.test:8800",
        "localhost.evil.test",
        "127.0.0.1.evil.test",
        "localhost@evil.test",
        "evil.test/@localhost",
        "evil.test\\@localhost",
        "evil.test#@localhost",
        "192.0.2.1",
        "[",
        "",
    ],
)
async def test_a_foreign_name_that_resolves_to_this_machine_is_refused(here: LabGuard, host: str) -> None:
    assert await ask(here, {"host": host}) == (403, "host_foreign")


@pytest.mark.parametrize("headers", [[], [("host", "localhost"), ("host", "evil.test")], [("host", "localhost")] * 2])
async def test_a_request_without_exactly_one_host_is_refused(here: LabGuard, headers: list[tuple[str, str]]) -> None:
    assert await ask(here, headers) == (403, "host_foreign")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8800", "chat.localhost:8800", "[::1]:8800", "127.0.0.2"])
async def test_every_name_of_this_machine_is_accepted(here: LabGuard, host: str) -> None:
    assert await ask(here, {"host": host}) == PASSED


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize(
    "header",
    [
        *("x-forwarded-for", "X-Forwarded-Proto", "x-forwarded-host", "x-forwarded-anything", "forwarded", "via"),
        *("X-Real-IP", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip"),
    ],
)
async def test_a_forwarded_request_needs_the_token(here: LabGuard, anywhere: LabGuard, header: str) -> None:
    forwarded = {**HERE, header: "127.0.0.1"}

    assert await ask(here, forwarded) == (403, "proxied")
    assert await ask(anywhere, forwarded | bearer(TOKEN)) == PASSED


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize("origin", ["https://evil.test", "null", "http://localhost:3000", "https://localhost:8800"])
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE"])
async def test_a_page_of_another_origin_is_refused(here: LabGuard, method: str, origin: str) -> None:
    assert await ask(here, {**HERE, **JSON, "origin": origin}, method=method) == (403, "origin_foreign")


async def test_a_second_foreign_origin_is_refused(here: LabGuard) -> None:
    headers = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "https://evil.test")]

    assert await ask(here, headers) == (403, "origin_foreign")


@pytest.mark.parametrize("origin", ["http://localhost:8800", "https://chat.localhost"])
async def test_a_page_of_its_own_passes(origin: str) -> None:
    guard = LabGuard(lab, origins=["https://chat.localhost"])

    assert await ask(guard, {**HERE, **JSON, "origin": origin}, method="POST") == PASSED


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
@pytest.mark.parametrize("sent", ["text/plain", "text/plain;application/json", FORM, "multipart/form-data", ""])
async def test_content_types_that_need_no_preflight_are_refused(here: LabGuard, method: str, sent: str) -> None:
    assert await ask(here, {**HERE, "content-type": sent}, method=method) == (415, "media_type_unsupported")


@pytest.mark.parametrize("headers", [{"content-length": "9"}, {"transfer-encoding": "chunked"}])
async def test_a_body_without_a_content_type_is_refused(here: LabGuard, headers: dict[str, str]) -> None:
    assert await ask(here, {**HERE, **headers}, method="POST") == (415, "media_type_unsupported")


@pytest.mark.parametrize(
    "headers", [JSON, {"content-type": "Application/JSON; charset=utf-8"}, {}, {"content-length": "0"}]
)
async def test_json_and_an_empty_body_are_accepted(here: LabGuard, headers: dict[str, str]) -> None:
    assert await ask(here, {**HERE, **headers}, method="POST") == PASSED


@pytest.mark.contract("D-14/lab-token")
@pytest.mark.parametrize(
    "shown",
    [
        "",
        "Bearer",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        TOKEN,
        f"Digest {TOKEN}",
        "Basic",
        "Basic ???",
        "Basic " + b64encode(f"{TOKEN}:".encode()).decode(),
        "Basic " + b64encode(b"\xff\xfe").decode(),
    ],
)
async def test_with_a_token_even_requests_from_this_machine_need_it(anywhere: LabGuard, shown: str) -> None:
    headers = {**HERE, "authorization": shown} if shown else HERE

    assert await ask(anywhere, headers) == (401, "token_required")


@pytest.mark.contract("D-14/lab-token")
@pytest.mark.parametrize(
    "shown", [f"Bearer {TOKEN}", f"bearer {TOKEN}", "Basic " + b64encode(f"lab:{TOKEN}".encode()).decode()]
)
async def test_with_the_token_requests_from_any_address_are_accepted(anywhere: LabGuard, shown: str) -> None:
    headers = {"host": "chat.example", "authorization": shown}

    assert await ask(anywhere, headers, peer="192.0.2.7") == PASSED


async def test_a_request_with_two_tokens_is_refused(anywhere: LabGuard) -> None:
    headers = [("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer other")]

    assert await ask(anywhere, headers) == (401, "token_required")


async def test_a_foreign_page_may_not_use_a_token_that_the_browser_adds(anywhere: LabGuard) -> None:
    headers = {"host": "chat.example", "origin": "https://evil.test", **JSON, "authorization": f"Bearer {TOKEN}"}

    assert await ask(anywhere, headers, method="POST") == (403, "origin_foreign")


async def test_paths_outside_of_the_lab_are_not_guarded(anywhere: LabGuard) -> None:
    assert await ask(anywhere, {}, path="/laboratory", peer="192.0.2.7") == PASSED
    assert await ask(anywhere, {}, path="/lab", peer="192.0.2.7") == (401, "token_required")


async def test_a_form_from_the_labs_own_page_is_accepted_where_forms_are_allowed() -> None:
    guard = LabGuard(lab, under="/agent/lab", takes=FORM)
    headers = {**HERE, "content-type": FORM, "origin": "http://localhost:8800"}

    assert await ask(guard, headers, method="POST", path="/agent/lab") == PASSED
    assert await ask(guard, {**headers, "origin": "null"}, method="POST", path="/agent/lab") == (403, "origin_foreign")


@pytest.mark.parametrize(
    "token", ["", "short", "x" * 15, "spaces in the token 12345", "ünicode-ünicode-ünicode", "x" * 20 + "\n"]
)
def test_a_token_that_is_short_or_cannot_be_sent_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="must be at least 16 visible ASCII characters"):
        check_token(token)


def test_a_client_sends_its_token_as_a_bearer_token() -> None:
    assert check_token(TOKEN) == TOKEN
    assert bearer(TOKEN) == {"Authorization": f"Bearer {TOKEN}"}
    assert bearer("") == {}
