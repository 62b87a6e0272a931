"""Tests of a lab's access control: peers, origins and tokens. Each refused request is paired with an accepted one."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from chatkey_lab.guard import FORM, LabGuard, bearer, check_token

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
FOREIGN_HOST, PROXIED = (403, "host_foreign"), (403, "proxied")
FOREIGN_ORIGIN, NO_TOKEN, UNSUPPORTED = (
    (403, "origin_foreign"),
    (401, "token_required"),
    (415, "media_type_unsupported"),
)
LOCAL, TOKENED = LabGuard(lab), LabGuard(lab, token=TOKEN)
"""A lab that only this machine may use, and one with a token, which other machines may use too."""


def basic(credentials: bytes) -> str:
    return "Basic " + b64encode(credentials).decode()


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize(
    ("peer", "answer"),
    [
        *((peer, (403, "peer_foreign")) for peer in ("192.0.2.7", "::ffff:192.0.2.7", "172.17.0.1", "testclient", "")),
        (None, (403, "peer_foreign")),
        *((peer, PASSED) for peer in ("127.0.0.1", "127.8.9.1", "::1")),
    ],
)
async def test_only_peers_of_this_machine_pass(peer: str | None, answer: tuple[int, str]) -> None:
    assert await ask(LOCAL, HERE, peer=peer) == answer


FOREIGN_HOSTS = (
    *("evil.test", "evil.test:8800", "localhost.evil.test", "127.0.0.1.evil.test", "localhost@evil.test", "192.0.2.1"),
    *("evil.test/@localhost", "evil.test\\@localhost", "evil.test#@localhost", "[", ""),
)
OWN_HOSTS = ("localhost", "127.0.0.1:8800", "chat.localhost:8800", "[::1]:8800", "127.0.0.2")


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        *(([("host", host)], FOREIGN_HOST) for host in FOREIGN_HOSTS),
        *((headers, FOREIGN_HOST) for headers in ([], [("host", "localhost"), ("host", "evil.test")])),
        ([("host", "localhost")] * 2, FOREIGN_HOST),
        *(([("host", host)], PASSED) for host in OWN_HOSTS),
    ],
)
async def test_a_request_must_have_one_host_of_this_machine(
    headers: list[tuple[str, str]], answer: tuple[int, str]
) -> None:
    """A foreign name may resolve to this machine."""
    assert await ask(LOCAL, headers) == answer


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize(
    "header",
    [
        *("x-forwarded-for", "X-Forwarded-Proto", "x-forwarded-host", "x-forwarded-anything", "forwarded", "via"),
        *("X-Real-IP", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip"),
    ],
)
async def test_a_forwarded_request_needs_the_token(header: str) -> None:
    forwarded = {**HERE, header: "127.0.0.1"}

    assert await ask(LOCAL, forwarded) == PROXIED
    assert await ask(TOKENED, forwarded | bearer(TOKEN)) == PASSED


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE"])
@pytest.mark.parametrize(
    ("origins", "answer"),
    [
        *(([origin], FOREIGN_ORIGIN) for origin in ("https://evil.test", "null", "http://localhost:3000")),
        (["https://localhost:8800"], FOREIGN_ORIGIN),
        (["http://localhost:8800", "https://evil.test"], FOREIGN_ORIGIN),
        (["http://localhost:8800"], PASSED),
        (["https://chat.localhost"], PASSED),
    ],
)
async def test_only_pages_of_its_own_origins_pass(method: str, origins: list[str], answer: tuple[int, str]) -> None:
    guard = LabGuard(lab, origins=["https://chat.localhost"])
    headers = [*HERE.items(), *JSON.items(), *(("origin", origin) for origin in origins)]

    assert await ask(guard, headers, method=method) == answer


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        *(
            ({"content-type": sent}, UNSUPPORTED)
            for sent in ("text/plain", "text/plain;application/json", FORM, "multipart/form-data", "")
        ),
        *((sent, UNSUPPORTED) for sent in ({"content-length": "9"}, {"transfer-encoding": "chunked"})),
        *((sent, PASSED) for sent in (JSON, {"content-type": "Application/JSON; charset=utf-8"}, {})),
        ({"content-length": "0"}, PASSED),
    ],
)
async def test_a_body_must_be_json_which_needs_a_preflight(
    method: str, headers: dict[str, str], answer: tuple[int, str]
) -> None:
    assert await ask(LOCAL, {**HERE, **headers}, method=method) == answer


WRONG = (
    *("Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN, f"Digest {TOKEN}"),
    *("Basic", "Basic ???", basic(f"{TOKEN}:".encode()), basic(b"\xff\xfe")),
)
RIGHT = (f"Bearer {TOKEN}", f"bearer {TOKEN}", basic(f"lab:{TOKEN}".encode()))


@pytest.mark.contract("D-14/lab-token")
@pytest.mark.parametrize(
    ("shown", "peer", "answer"),
    [
        ([], "127.0.0.1", NO_TOKEN),
        *(([shown], "127.0.0.1", NO_TOKEN) for shown in WRONG),
        ([f"Bearer {TOKEN}", "Bearer other"], "127.0.0.1", NO_TOKEN),
        *(([shown], "192.0.2.7", PASSED) for shown in RIGHT),
    ],
)
async def test_a_lab_with_a_token_takes_requests_from_any_address_with_it_and_none_without(
    shown: list[str], peer: str, answer: tuple[int, str]
) -> None:
    headers = [("host", "chat.example"), *(("authorization", one) for one in shown)]

    assert await ask(TOKENED, headers, peer=peer) == answer


async def test_a_foreign_page_may_not_use_a_token_that_the_browser_adds() -> None:
    headers = {"host": "chat.example", "origin": "https://evil.test", **JSON, "authorization": f"Bearer {TOKEN}"}

    assert await ask(TOKENED, headers, method="POST") == FOREIGN_ORIGIN


async def test_paths_outside_of_the_lab_are_not_guarded() -> None:
    assert await ask(TOKENED, {}, path="/laboratory", peer="192.0.2.7") == PASSED
    assert await ask(TOKENED, {}, path="/lab", peer="192.0.2.7") == NO_TOKEN


async def test_a_form_from_the_labs_own_page_is_accepted_where_forms_are_allowed() -> None:
    guard = LabGuard(lab, under="/agent/lab", takes=FORM)
    headers = {**HERE, "content-type": FORM, "origin": "http://localhost:8800"}

    assert await ask(guard, headers, method="POST", path="/agent/lab") == PASSED
    assert await ask(guard, {**headers, "origin": "null"}, method="POST", path="/agent/lab") == FOREIGN_ORIGIN


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
