"""Tests of limits for the whole service. Redis counts for all processes. Without it, each process allows its share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, cast

import pytest
from redis import Redis
from structlog.testing import capture_logs
from tests.proxy import Proxy

from chatkey_protocol.codes import Code
from chatkey_server.chat.links import tally_of
from chatkey_server.identity.errors import RateLimited, Refused
from chatkey_server.limits import redis_tally
from chatkey_server.limits.rates import Rates
from chatkey_server.settings import Limits

if TYPE_CHECKING:
    from litestar.types import Scope

    from chatkey_server.clock import Clock

Fixture = Any
MakeRates = Callable[..., Awaitable[Rates]]

KEY = b"k" * 32
ADDRESS = "192.0.2.1"
CLIENT = cast("Scope", {"client": (ADDRESS, 50_000)})
LIMITS = Limits(oauth_rate=2, messages_per_identity=48)


@pytest.fixture
async def make_rates(clock: Clock, redis_url: str, redis_server: Redis) -> AsyncIterator[MakeRates]:
    """Create the rate limits of one more process."""
    redis_server.flushall()
    async with AsyncExitStack() as stack:

        async def make(
            through: Proxy | None = None, key: bytes = KEY, limits: Limits = LIMITS, processes: int = 1
        ) -> Rates:
            url = redis_url if through is None else f"redis://127.0.0.1:{through.port}"
            rates = Rates(limits, clock, tally_of(url, [key]), lambda: processes)
            await stack.enter_async_context(rates.counting.running())
            return rates

        yield make


async def store(rates: Rates, *, fails: bool = False) -> None:
    """Store a message, and wait until Redis has counted it."""
    with rates.quotas.stored(party="ann", address=ADDRESS, provider="prov", login="custom", size=10):
        if fails:
            raise Refused(Code.UNAVAILABLE, "away")
    tally = rates.counting._tally
    assert isinstance(tally, redis_tally.RedisTally)
    await tally.shared()


@pytest.mark.parametrize("which", ["oauth", "agent_sign_ins", "admin_sign_ins"])
async def test_requests_are_counted_across_processes(which: str, make_rates: MakeRates) -> None:
    one, other = await make_rates(), await make_rates()
    most = 2 if which == "oauth" else 10
    for number in range(most):
        await getattr((one, other)[number % 2], which).count(CLIENT)

    for rates in (one, other):
        with pytest.raises(RateLimited) as refused:
            await getattr(rates, which).count(CLIENT)
        assert refused.value.retry_after == 60 // most

    await getattr(other, which).count(cast("Scope", {"client": ("192.0.2.2", 1)}))


async def test_stored_messages_are_counted_across_processes_and_failed_ones_are_not(
    make_rates: MakeRates, clock: Clock, redis_server: Redis
) -> None:
    one, other = await make_rates(), await make_rates()
    await store(one)
    for _ in range(3):
        with pytest.raises(Refused, match="away"):
            await store(other, fails=True)
    await store(other)
    await store(one)  # only now does it learn what the other process has stored

    for rates, seconds in ((one, 3600), (other, 1800)):
        with pytest.raises(
            RateLimited, match=f"You have sent as many messages as the limit allows for now; try again in {seconds} s"
        ):
            await store(rates)
    clock.advance(3600)
    await store(one)
    keys = list(redis_server.scan_iter())
    assert "ann" not in str(keys)
    assert all(0 < redis_server.pttl(key) <= 3_700_000 for key in keys)


async def test_refused_requests_are_not_counted_in_any_process(make_rates: MakeRates, clock: Clock) -> None:
    one, other = await make_rates(), await make_rates()
    for _ in range(2):
        await one.oauth.count(CLIENT)
    for _ in range(20):
        with pytest.raises(RateLimited):
            await other.oauth.count(CLIENT)

    clock.advance(30)

    await other.oauth.count(CLIENT)


async def test_deployments_on_one_redis_count_apart(make_rates: MakeRates) -> None:
    ours, theirs = await make_rates(), await make_rates(key=b"t" * 32)
    for rates in (ours, theirs):
        for _ in range(2):
            await rates.oauth.count(CLIENT)

    with pytest.raises(RateLimited):
        await theirs.oauth.count(CLIENT)


@pytest.mark.parametrize(("breaks", "processes"), [("cut", 1), ("silence", 1), ("cut", 2)])
async def test_while_redis_is_away_each_process_allows_its_share_and_says_so_once(
    breaks: str, processes: int, make_rates: MakeRates, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outage of Redis must not reset a limit, so each process must continue with its earlier counts."""
    monkeypatch.setattr(redis_tally, "AGAIN_SECONDS", 0.0)
    one = await make_rates(through=proxy, limits=Limits(oauth_rate=3), processes=processes)
    other = await make_rates()
    await one.oauth.count(CLIENT)

    with capture_logs() as events:
        proxy.silence()
        if breaks == "cut":
            proxy.cut()
        for _ in range(2 // processes):
            await one.oauth.count(CLIENT)
        with pytest.raises(RateLimited):
            await one.oauth.count(CLIENT)
        proxy.cut()
        proxy.resume()
        await one.agent_sign_ins.count(CLIENT)
        await one.agent_sign_ins.count(CLIENT)

    assert [event["event"] for event in events] == ["limits.alone", "limits.together"]
    assert ADDRESS not in str(events)
    await other.oauth.count(CLIENT)


async def test_while_redis_is_away_it_is_not_asked_each_time(
    make_rates: MakeRates, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_tally, "AGAIN_SECONDS", 3600.0)
    rates = await make_rates(through=proxy, limits=Limits(oauth_rate=1000))
    proxy.silence()
    with capture_logs():
        await rates.oauth.count(CLIENT)
        before = proxy.connections
        for _ in range(100):
            await rates.oauth.count(CLIENT)

    assert proxy.connections == before


async def test_after_a_reset_everyone_begins_anew(make_rates: MakeRates) -> None:
    rates = await make_rates(limits=Limits(oauth_rate=1))
    await rates.oauth.count(CLIENT)

    rates.reset()

    await rates.oauth.count(CLIENT)
