"""Tests of faults that can affect any answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.oauth.faults.journey import Arm, Journey, readable, travel
from tests.oauth.visitor import Visitor, content

from chatkey_oauth.faults.rules import Scope

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer

LEGS = {"authorize": 0, "consent": 1, "token": 2, "profile": 3}
EVERY_LEG = pytest.mark.parametrize("leg", LEGS)


def met(journey: Journey, leg: str) -> Answer:
    """Return the answer of an endpoint. If the fault ended the login, that answer must be the last answer."""
    return journey.answers[LEGS[leg]]


@EVERY_LEG
@pytest.mark.parametrize(
    ("fault", "options", "delay", "cut"),
    [
        ("slow", {"seconds": 7}, 7.0, ""),
        ("hang", {}, None, ""),
        ("reset", {}, 0.0, "before"),
    ],
)
def test_only_the_answer_of_the_chosen_leg_is_late_or_cut(
    *, google: Visitor, arm: Arm, leg: str, fault: str, options: dict[str, Any], delay: float | None, cut: str
) -> None:
    arm(fault, leg=leg, **options)

    journey = travel(google)

    bent = met(journey, leg)
    assert (bent.delay, bent.cut) == (delay, cut)
    assert {(answer.delay, answer.cut) for answer in journey.answers if answer is not bent} == {(0.0, "")}
    assert len(journey.answers) == 4


def kind(answer: Answer) -> str:
    return dict(answer.headers)["content-type"]


BENT: list[tuple[str, str, dict[str, Any], Callable[[Answer], object]]] = [
    ("truncated", "authorize", {"leg": "authorize"}, lambda answer: answer.cut == "midway"),
    ("truncated", "token", {"leg": "token"}, lambda answer: answer.cut == "midway"),
    ("truncated", "profile", {"leg": "profile"}, lambda answer: answer.cut == "midway"),
    ("malformed-json", "token", {"leg": "token"}, lambda answer: (answer.status, readable(answer)) == (200, False)),
    ("malformed-json", "profile", {"leg": "profile"}, lambda answer: (answer.status, readable(answer)) == (200, False)),
    ("malformed-json", "profile", {"leg": "profile"}, lambda answer: kind(answer) == "application/json"),
    ("malformed-json", "authorize", {"leg": "authorize"}, lambda answer: kind(answer) == "application/json"),
    ("malformed-json", "authorize", {"leg": "authorize"}, lambda answer: answer.body.startswith(b'{"error"')),
    ("empty-answer", "token", {}, lambda answer: (answer.status, answer.body) == (200, b"")),
    ("huge-answer", "token", {"megabytes": 1}, lambda answer: len(answer.body) > 1_000_000 and readable(answer)),
    (
        *("redirected", "token", {"to": "https://elsewhere.example/token"}),
        lambda answer: (answer.status, dict(answer.headers)["location"]) == (307, "https://elsewhere.example/token"),
    ),
]


@pytest.mark.parametrize(("fault", "leg", "options", "is_bent"), BENT)
def test_a_fault_changes_the_answer_of_one_endpoint(
    *, google: Visitor, arm: Arm, fault: str, leg: str, options: dict[str, Any], is_bent: Callable[[Answer], object]
) -> None:
    arm(fault, **options)

    answer = met(travel(google), leg)

    assert is_bent(answer), answer


def test_a_redirect_is_not_truncated(google: Visitor, arm: Arm) -> None:
    rule = arm("truncated", leg="consent")

    travel(google)

    assert rule.hits == 0


@EVERY_LEG
@pytest.mark.parametrize(
    ("fault", "options", "status", "retry_after"),
    [
        ("status-500", {}, 500, None),
        ("status-500", {"status": 502}, 502, None),
        ("status-500", {"status": 403}, 403, None),
        ("status-500", {"status": 599}, 599, None),
        ("unavailable", {}, 503, "30"),
        ("unavailable", {"retry_after": 5}, 503, "5"),
    ],
)
def test_the_server_fails_before_it_did_anything(
    *, google: Visitor, arm: Arm, leg: str, fault: str, options: dict[str, Any], status: int, retry_after: str | None
) -> None:
    arm(fault, leg=leg, **options)

    journey = travel(google)

    failed = met(journey, leg)
    headers = dict(failed.headers)
    assert failed is journey.answers[-1]
    assert failed.status == status
    assert headers["content-type"].startswith("text/html")
    assert headers.get("retry-after") == retry_after
    assert b"<h1>" in failed.body


def test_a_code_is_still_good_after_the_token_endpoint_failed(google: Visitor, arm: Arm) -> None:
    arm("status-500")

    code = travel(google).callback["code"]

    assert google.redeem(code).status == 200


def test_a_code_is_used_up_after_the_connection_was_reset(google: Visitor, arm: Arm) -> None:
    arm("reset")

    code = travel(google).callback["code"]

    assert google.redeem(code).status == 400


@pytest.mark.parametrize(
    ("leg", "options", "content_type"),
    [
        ("token", {}, "text/html; charset=utf-8"),
        ("profile", {"content_type": "text/plain"}, "text/plain"),
        ("authorize", {}, "application/octet-stream"),
    ],
)
def test_the_content_type_is_wrong_and_the_content_right(
    *, google: Visitor, arm: Arm, leg: str, options: dict[str, str], content_type: str
) -> None:
    arm("wrong-content-type", leg=leg, **options)

    bent, straight = met(travel(google), leg), met(travel(google), leg)

    assert [value for name, value in bent.headers if name == "content-type"] == [content_type]
    assert (bent.status, len(bent.body) // 100) == (straight.status, len(straight.body) // 100)


@pytest.mark.parametrize(("leg", "member"), [("token", "access_token"), ("profile", "sub")])
def test_a_member_comes_twice(google: Visitor, arm: Arm, leg: str, member: str) -> None:
    arm("duplicate-members", leg=leg)

    answer = met(travel(google), leg)

    members = json.loads(answer.body, object_pairs_hook=list)
    values = [value for name, value in members if name == member]
    assert len(values) == 2
    assert values[1] == "another-value" != values[0]


@pytest.mark.parametrize(
    ("name", "status", "header"),
    [
        ("google", 429, None),
        ("facebook", 400, "x-app-usage"),
        ("github", 403, "x-ratelimit-remaining"),
        ("gitlab", 429, "ratelimit-reset"),
        ("discord", 429, "x-ratelimit-reset-after"),
        ("apple", 429, "retry-after"),
        ("x", 429, "x-rate-limit-reset"),
        ("tiktok", 429, None),
        ("amazon", 429, "retry-after"),
    ],
)
def test_too_many_requests_are_refused_in_the_providers_format(
    visitor: Visitor, arm: Arm, name: str, status: int, header: str | None
) -> None:
    arm("rate-limited", scope=Scope(provider=name), retry_after=12)

    answer = visitor.redeem("any")

    assert answer.status == status
    assert header is None or header in dict(answer.headers)


def test_discord_gives_the_time_to_wait_in_body_and_headers(discord: Visitor, arm: Arm) -> None:
    arm("rate-limited", scope=Scope(provider="discord"), retry_after=12)

    answer = discord.redeem("any")

    assert content(answer) == {"message": "You are being rate limited.", "retry_after": 12.47, "global": False}
    assert dict(answer.headers)["retry-after"] == "12"
