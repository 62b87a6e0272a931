"""Tests of the `--ui` page: which requests it accepts, which calls it repeats, and how it explains a pasted token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from threading import Thread
from typing import Any

import httpx
import msgspec
import pytest
from tests.check.mutants.mutant_backend import SECRET, SESSIONS, Backend, Clock

from chatkey_check.running.runner import Selection
from chatkey_check.target import Login, Target
from chatkey_check.ui.desk import Again, Desk, Refused
from chatkey_check.ui.pasted import OF_A_TOKEN, explained
from chatkey_check.ui.serve import UiServer

QUICK = Selection(only=("req.post-json", "jwt.*", "anon.null"))


@pytest.fixture
def desk(target: Target) -> Desk:
    """The state of the page for an endpoint without faults, with only a few checks."""
    return Desk(target, QUICK)


@pytest.fixture
def server(desk: Desk) -> Iterator[UiServer]:
    with UiServer(desk) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def asked_again(state: dict[str, Any], **changes: object) -> Again:
    """Return the request with which the page repeats the first call, with optional changes."""
    return msgspec.convert(state["calls"][0] | changes, Again)


def test_a_state_shows_every_call_and_nothing_secret(desk: Desk) -> None:
    state = desk.state()

    assert state["calls"][0]["label"] == "a normal call"
    assert "Cookie: •••" in state["calls"][0]["headers"]
    assert not any(secret in json.dumps(state) for secret in (SECRET, *SESSIONS.values()))


def test_a_call_is_sent_again_as_it_was_changed_with_the_session_that_is_hidden(desk: Desk, backend: Backend) -> None:
    state = desk.state()

    same = desk.send(asked_again(state))
    other = desk.send(asked_again(state, body='{"jkt": "short"}'))
    nobody = desk.send(asked_again(state, headers="Content-Type: application/json"))

    assert (same["status"], other["status"], nobody["status"]) == (200, 400, 200)
    assert '"token":"eyJ' in same["answer"]
    assert '"token":null' in nobody["answer"]
    assert [call["id"] for call in (same, other, nobody)] == [len(state["calls"]) + n for n in range(3)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"url": "https://evil.example/"}, "Calls can only be sent to http://127.0.0.1"),
        ({"url": "http://a:b@127.0.0.1/"}, "Calls can only be sent to"),
        ({"method": "GET /x HTTP/1.1\r\n"}, "The method must be a word"),
        ({"headers": "no header"}, "is not a header"),
        ({"headers": "Cookie: sid=•••; more=1"}, "Write the whole value"),
        ({"url": "http://@127.0.0.1/"}, "Calls can only be sent to"),
        ({"headers": "Content-Length: 5"}, "leave this header out"),
        ({"headers": "a b: c"}, "is not a header"),
        ({"id": 900}, "no longer known"),
    ],
)
def test_an_unusable_change_of_a_call_is_refused_and_not_sent(
    desk: Desk, backend: Backend, changes: dict[str, object], message: str
) -> None:
    state = desk.state()
    calls = backend.calls

    with pytest.raises(Refused) as refused:
        desk.send(asked_again(state, **changes))

    assert message in str(refused.value)
    assert backend.calls == calls


def test_the_page_brings_all_it_needs_and_may_load_nothing_else(server: UiServer) -> None:
    page = httpx.get(server.url)

    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "/* STYLE */" not in page.text
    assert "src=" not in page.text


def test_the_requests_of_the_page_are_answered(server: UiServer) -> None:
    json_of_page = {"Origin": server.origin, "Content-Type": "application/json"}
    state = httpx.get(f"{server.url}state").json()

    sent = httpx.post(f"{server.url}send", headers=json_of_page, content=msgspec.json.encode(asked_again(state)))
    told = httpx.post(f"{server.url}token", headers=json_of_page, content='{"token": "x"}')
    wrong = httpx.post(f"{server.url}send", headers=json_of_page, content='{"id": 0}')
    again = httpx.post(f"{server.url}run", headers=json_of_page, content="{}")
    progress = httpx.get(f"{server.url}progress").json()

    assert (sent.json()["status"], told.status_code, wrong.status_code) == (200, 200, 400)
    assert again.json()["headline"] == state["headline"]
    assert progress["done"] == progress["total"] > 1


@pytest.mark.parametrize(
    ("place", "headers", "content"),
    [
        ("other", {}, "{}"),
        ("send", {"Origin": "https://evil.example"}, "{}"),
        ("send", {"Origin": ""}, "{}"),
        ("send", {"Content-Type": "text/plain"}, "{}"),
        ("send", {"Host": "evil.example"}, "{}"),
    ],
)
def test_other_requests_are_not_answered(server: UiServer, place: str, headers: dict[str, str], content: str) -> None:
    right = {"Origin": server.origin, "Content-Type": "application/json"}

    answer = httpx.post(f"{server.url}{place}", headers=right | headers, content=content)

    assert (answer.status_code, answer.json()) == (404, {"error": "Not found."})


@pytest.mark.parametrize("path", ["/", "/state", "/wrong-key/", "/wrong-key/state", "//state", "/é/state"])
def test_requests_without_the_key_get_404(server: UiServer, path: str) -> None:
    assert httpx.get(f"{server.origin}{path}").status_code == 404


def test_a_body_that_is_too_long_gets_413(server: UiServer) -> None:
    headers = {"Origin": server.origin, "Content-Type": "application/json"}

    assert httpx.post(f"{server.url}token", headers=headers, content=b" " * 1_000_001).status_code == 413


def test_a_good_token_is_confirmed_and_nothing_is_sent(target: Target, backend: Backend) -> None:
    backend.clock = Clock()
    token = backend.token({"uid": "u-1"}, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")

    told = explained(f" Bearer {token}\n", replace(target, login=Login()))

    assert (told["findings"], told["passed"]) == ([], len(OF_A_TOKEN))
    assert '"alg": "HS256"' in told["header"]
    assert '"uid": "u-1"' in told["claims"]
    assert backend.calls == 0


@pytest.mark.parametrize(("token", "found"), [("x", "jwt.compact"), ("", "jwt.compact"), ("a.b.c", "jwt.compact")])
def test_text_that_is_no_token_is_reported(target: Target, token: str, found: str) -> None:
    told = explained(token, target)

    assert [finding["id"] for finding in told["findings"]][:1] == [found]
    assert all(finding["verdict"] != "error" for finding in told["findings"])
