"""Rate limits per client address."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from chatkey_server.identity.errors import RateLimited
from chatkey_server.public.limits import RateLimit
from chatkey_server.settings import Limits

if TYPE_CHECKING:
    from litestar.types import Scope
    from tests.server.conftest import MakeClient

    from chatkey_server.clock import Clock

UID = "v_NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


def request_of(client: str) -> Scope:
    return cast("Scope", {"client": (client, 50_000)})


def test_a_client_may_use_its_minute_at_once_and_then_asks_evenly(clock: Clock) -> None:
    limit = RateLimit(6, clock)
    for _ in range(6):
        limit.check(request_of("192.0.2.1"))

    with pytest.raises(RateLimited) as refused:
        limit.check(request_of("192.0.2.1"))

    assert (refused.value.code, refused.value.retry_after) == ("rate_limited", 10)
    clock.advance(10)
    limit.check(request_of("192.0.2.1"))


def test_a_refused_request_costs_nothing(clock: Clock) -> None:
    limit = RateLimit(1, clock)
    limit.check(request_of("192.0.2.1"))
    for _ in range(100):
        with pytest.raises(RateLimited, match="try again in 60 s"):
            limit.check(request_of("192.0.2.1"))

    clock.advance(60)

    limit.check(request_of("192.0.2.1"))


def test_clients_do_not_disturb_each_other(clock: Clock) -> None:
    limit = RateLimit(1, clock)
    limit.check(request_of("192.0.2.1"))

    limit.check(request_of("192.0.2.2"))

    with pytest.raises(RateLimited):
        limit.check(request_of("192.0.2.1"))


def test_zero_is_no_limit(clock: Clock) -> None:
    limit = RateLimit(0, clock)

    for _ in range(1000):
        limit.check(request_of("192.0.2.1"))


def test_after_a_reset_everyone_begins_anew(clock: Clock) -> None:
    limit = RateLimit(1, clock)
    limit.check(request_of("192.0.2.1"))

    limit.reset()

    limit.check(request_of("192.0.2.1"))


def test_what_it_remembers_is_bounded_and_those_with_a_whole_allowance_are_forgotten_first(clock: Clock) -> None:
    limit = RateLimit(1, clock, most_clients=10)
    for number in range(9):
        limit.check(request_of(f"192.0.2.{number}"))
    clock.advance(60)
    limit.check(request_of("198.51.100.1"))

    for number in range(5):
        limit.check(request_of(f"203.0.113.{number}"))

    assert len(limit._whole_at) <= 10
    with pytest.raises(RateLimited):
        limit.check(request_of("198.51.100.1"))


def test_a_crowd_of_new_clients_does_not_make_it_grow(clock: Clock) -> None:
    limit = RateLimit(1, clock, most_clients=10)

    for number in range(1000):
        limit.check(request_of(f"client {number}"))

    assert len(limit._whole_at) <= 10


@pytest.mark.contract("D-03/rate-limit")
@pytest.mark.parametrize("endpoint", [f"token?uid={UID}", "member/token"])
async def test_the_token_endpoints_answer_429_with_retry_after(make_client: MakeClient, endpoint: str) -> None:
    async with make_client(limits=Limits(token_rate=2)) as client:
        path = f"/v1/public/provider/none/{endpoint}"
        before = [(await client.get(path)).status_code for _ in range(2)]

        answer = await client.get(path)

        assert before == [404, 404]
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limited")
        assert answer.headers["retry-after"] == "30"
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-expose-headers"] == "Retry-After"


async def test_the_configuration_is_not_limited(make_client: MakeClient) -> None:
    async with make_client(limits=Limits(token_rate=1)) as client:
        statuses = {(await client.get("/v1/public/provider/none")).status_code for _ in range(5)}

        assert statuses == {404}


async def test_an_address_that_a_client_only_claims_is_not_believed(make_client: MakeClient) -> None:
    async with make_client(limits=Limits(token_rate=1)) as client:
        path = f"/v1/public/provider/none/token?uid={UID}"
        first = await client.get(path, headers={"X-Forwarded-For": "192.0.2.1"})

        second = await client.get(path, headers={"X-Forwarded-For": "192.0.2.2"})

        assert (first.status_code, second.status_code) == (404, 429)
