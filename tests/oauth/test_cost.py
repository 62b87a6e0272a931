"""Tests that the cost of a request grows linearly with its size, and that deeply nested requests are refused."""

from __future__ import annotations

import asyncio
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import httpx
import pytest
from tests.oauth.visitor import Visitor

from chatkey_oauth.app import BODY_BYTES
from chatkey_oauth.engine.addresses import leads_here
from chatkey_oauth.engine.asgi import read_body
from chatkey_oauth.faults.rules import RULES, Order
from chatkey_oauth.providers import NAMES

if TYPE_CHECKING:
    from chatkey_oauth.app import App

    Work = Callable[[int], object]

pytestmark = pytest.mark.long

SIZE = BODY_BYTES // 4
TIMES = 8
"""The factor in size between the larger and the smaller request. Linear cost grows by 8, quadratic cost by 64.

The test allows a factor of `LIMIT`.
"""
LIMIT = 24
EVERY = pytest.mark.parametrize("name", NAMES)
APPROVAL = b"account=rhea&decision=approve"
FORM = {"content_type": "application/x-www-form-urlencoded"}


def cost(work: Work, size: int) -> float:
    """Return the shortest CPU time, in seconds, of three runs with this size."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        work(size)
        taken.append(time.process_time() - began)
    return min(taken)


def in_proportion(work: Work) -> bool:
    """Return whether the CPU time grows linearly. Times below a millisecond are too short to compare."""
    return cost(work, SIZE * TIMES) < LIMIT * max(cost(work, SIZE), 0.001)


def words(size: int) -> str:
    """Return different words with about `size` characters in total."""
    found: Iterator[str] = (f"{number:x}" for number in range(size // 5))
    return " ".join(found)


def test_linear_and_quadratic_costs_are_told_apart() -> None:
    assert in_proportion(lambda size: sum(range(size * 4)))
    assert not in_proportion(lambda size: sum(range(size * size // 4000)))


@EVERY
@pytest.mark.parametrize("path", ["", "/consent"])
def test_many_scopes_cost_in_proportion(visitor: Visitor, path: str) -> None:
    body = APPROVAL if path else b""

    def ask(size: int) -> None:
        asked = visitor.request(scope=words(size), return_scopes="true", include_granted_scopes="true")
        visitor.fake.reset()
        visitor.send("POST" if path else "GET", path or visitor.site.authorize, urlencode(asked), body, FORM)

    assert in_proportion(ask)


@pytest.mark.parametrize("name", ["github", "tiktok", "amazon"])
@pytest.mark.parametrize("parameter", ["state", "redirect_uri", "scope", "scope_data"])
@pytest.mark.parametrize("text", ["../", "[", "%", "+,"])
def test_a_long_parameter_costs_in_proportion(visitor: Visitor, parameter: str, text: str) -> None:
    assert in_proportion(lambda size: visitor.ask(**{parameter: text * (size // len(text))}))


@EVERY
@pytest.mark.parametrize(
    "members",
    [
        lambda number: b"&code=a" * number,
        lambda number: b"".join(b"&a%d=b" % one for one in range(number)),
        lambda number: b"&client_secret=" + b"." * number * 8,
        lambda number: b"&" * number * 8,
    ],
    ids=["repeated", "different", "dots", "empty"],
)
def test_many_members_of_a_form_cost_in_proportion(visitor: Visitor, members: Any) -> None:
    assert in_proportion(lambda size: visitor.post(visitor.site.token, b"client_id=ours" + members(size // 8)))


@pytest.mark.parametrize(
    ("header", "text"),
    [("cookie", "a=b; "), ("authorization", "Basic YWE6"), ("accept", "a/b,"), ("authorization", "Bearer a ")],
)
def test_a_long_header_costs_in_proportion(github: Visitor, header: str, text: str) -> None:
    def ask(size: int) -> None:
        github.send("GET", github.site.authorize, urlencode(github.request()), headers={header: text * (size // 5)})
        github.send("GET", github.site.profile, headers={header: text * (size // 5)})

    assert in_proportion(ask)


@EVERY
@pytest.mark.parametrize("path", ["/a", "/v1", "1", ".1", "/.."])
def test_a_long_path_costs_in_proportion(visitor: Visitor, path: str) -> None:
    assert in_proportion(lambda size: visitor.get(f"/v1{path * (size // len(path))}x"))


@pytest.mark.parametrize("text", ["http://[" + ":", "http://a.", "http://127.0.0.1/../", "http:/", "http://a:"])
def test_a_long_address_costs_in_proportion(text: str) -> None:
    assert in_proportion(lambda size: leads_here(text[:-1] + text[-1] * size))


@pytest.mark.parametrize("fields", ["a", "a.b(", "a{b", "a.width(1)", ".a"])
def test_many_fields_cost_in_proportion(facebook: Visitor, fields: str) -> None:
    token = facebook.access_token()

    assert in_proportion(lambda size: facebook.profile(token, fields=fields * (size // len(fields))))


def test_a_body_of_many_parts_costs_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatkey_oauth.app.BODY_BYTES", 4 * BODY_BYTES)  # raised, so that the cost of copying shows

    def read(size: int) -> None:
        parts = iter({"type": "http.request", "body": b"x", "more_body": number < size} for number in range(size + 1))

        async def receive() -> dict[str, Any]:
            return next(parts)

        asyncio.run(read_body(receive, BODY_BYTES))

    assert cost(read, 4 * BODY_BYTES) < LIMIT * cost(read, 4 * BODY_BYTES // TIMES)


def test_a_fault_that_is_ticked_often_is_armed_once(google: Visitor) -> None:
    answer = google.decide(also="misbehave=slow&" * 4000 + "misbehave=state-dropped&misbehave=slow")

    assert [rule.fault for rule in google.fake.faults.rules()] == ["state-dropped", "slow"]
    assert answer.status == 302


def test_the_oldest_rule_is_disarmed_when_there_are_too_many(fake: App) -> None:
    oldest, second = (fake.faults.arm(Order(fault="slow", times=None)) for _ in range(2))
    fake.faults.disarm(second.id)

    for _ in range(RULES - 1):
        fake.faults.arm(Order(fault="slow", times=None))
    before = [rule for rule, _ in fake.faults.armed("google", "ours", None)]
    newest = fake.faults.arm(Order(fault="slow", times=None))

    after = [rule for rule, _ in fake.faults.armed("google", "ours", None)]
    assert before[0] is oldest
    assert after == [*before[1:], newest]
    assert fake.faults.get(oldest.id) is None


def deep(start: bytes, size: int = 30_000) -> bytes:
    """Return JSON with this beginning and then `size` opening brackets."""
    return start + b"[" * size


def test_a_client_secret_that_is_nested_too_deeply_is_refused_like_a_wrong_one(apple: Visitor) -> None:
    header = base64url(deep(b'{"alg":"ES256","kid":"KEY0000001","x":'))
    code = apple.callback()["code"]

    refused = apple.redeem(code, client_secret=f"{header}.e30.AAAA")
    taken = apple.redeem(code)

    assert (refused.status, refused.body) == (400, b'{"error":"invalid_client"}')
    assert taken.status == 200


def base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.mark.parametrize("start", [b"", b'{"profile":', b'{"profile":{"essential":'])
def test_scope_data_that_is_nested_too_deeply_makes_nothing_voluntary(amazon: Visitor, start: bytes) -> None:
    answer = amazon.ask(scope="profile", scope_data=deep(start).decode())
    usual = amazon.ask(scope="profile", scope_data='{"profile":{"essential":false}}')

    assert (answer.status, usual.status) == (200, 200)
    assert b'name="share"' not in answer.body
    assert b'name="share"' in usual.body


@pytest.mark.parametrize(("method", "path"), [("POST", "/faults"), ("POST", "/clients"), ("PUT", "/people/rhea")])
@pytest.mark.parametrize("start", [b"", b'{"with":{"a":', b'{"public_key":{"a":', b'{"subjects":'])
async def test_the_lab_refuses_a_body_that_is_nested_too_deeply(
    fake: App, method: str, path: str, start: bytes
) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=fake), base_url="http://127.0.0.1/lab") as lab:
        answer = await lab.request(method, path, content=deep(start), headers={"content-type": "application/json"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "request_invalid")
    assert "body: nested too deeply" in answer.json()["error"]["message"]
