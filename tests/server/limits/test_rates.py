"""Tests of the rate limits per client address."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from chatkey_server.identity.errors import RateLimited
from chatkey_server.limits.rates import RateLimit

if TYPE_CHECKING:
    from litestar.types import Scope

    from chatkey_server.clock import Clock


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


def test_after_a_reset_everyone_begins_anew(clock: Clock) -> None:
    limit = RateLimit(1, clock)
    limit.check(request_of("192.0.2.1"))

    limit.reset()

    limit.check(request_of("192.0.2.1"))


@pytest.mark.parametrize("ours", ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:DB8:1:2:0:0:0:3%eth0"])
def test_one_ipv6_network_is_one_client(ours: str, clock: Clock) -> None:
    limit = RateLimit(1, clock)
    limit.check(request_of("2001:db8:1:2::77"))

    with pytest.raises(RateLimited):
        limit.check(request_of(ours))

    limit.check(request_of("2001:db8:1:3::77"))


def test_how_large_a_network_is_one_client_can_be_set(clock: Clock) -> None:
    limit = RateLimit(1, clock, ipv6_prefix=48)
    limit.check(request_of("2001:db8:1:2::1"))

    with pytest.raises(RateLimited):
        limit.check(request_of("2001:db8:1:3::1"))

    limit.check(request_of("2001:db8:2:2::1"))
