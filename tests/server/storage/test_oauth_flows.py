"""Tests of social logins in progress. The server must find each login only once, within ten minutes."""

from __future__ import annotations

import asyncio

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import RateLimited, Refused, UnderWay
from chatkey_server.storage import engine, oauth_flows
from chatkey_server.storage.tables import OAuthFlow

NOW = 1_795_000_000.5


async def _start(flow_id: str, now: float = NOW) -> None:
    await oauth_flows.start(flow_id, provider="p", social="google", verifier="v" * 128, oidc_nonce="n", now=now)


@pytest.mark.contract("D-07/pkce")
async def test_the_callback_gets_what_the_start_left(database: engine.Database) -> None:
    await _start("one")

    flow = await oauth_flows.take("one", "c-1", now=NOW + 599)

    assert (flow.provider, flow.social, flow.verifier, flow.oidc_nonce) == ("p", "google", "v" * 128, "n")
    assert "v" * 128 not in repr(flow)


@pytest.mark.contract("D-07/single-use")
@pytest.mark.parametrize(
    ("first", "second", "after", "under_way"),
    [
        ("c-1", "c-1", 59, True),
        ("c-1", "c-1", 60, False),
        ("c-1", "c-2", 0, False),
        ("c-1", None, 0, False),
        (None, "c-1", 0, False),
        (None, None, 0, False),
    ],
)
async def test_a_second_callback_is_refused_and_under_way_if_it_repeats_the_code(
    *, database: engine.Database, first: str | None, second: str | None, after: int, under_way: bool
) -> None:
    await _start("one")
    await oauth_flows.take("one", first, now=NOW)

    with pytest.raises(Refused) as refused:
        await oauth_flows.take("one", second, now=NOW + after)

    assert (refused.value.code, refused.value.member) == (Code.STATE_USED, "state")
    assert isinstance(refused.value, UnderWay) is under_way


async def test_only_one_of_many_callbacks_gets_the_flow(database: engine.Database) -> None:
    await _start("one")

    answers = await asyncio.gather(
        *(oauth_flows.take("one", "c-1", now=NOW) for _ in range(10)), return_exceptions=True
    )

    assert sum(isinstance(answer, OAuthFlow) for answer in answers) == 1
    assert {answer.code for answer in answers if isinstance(answer, Refused)} == {Code.STATE_USED}


async def test_a_flow_that_was_never_started_is_refused(database: engine.Database) -> None:
    with pytest.raises(Refused) as refused:
        await oauth_flows.take("one", "c-1", now=NOW)

    assert (refused.value.code, refused.value.member) == (Code.STATE_INVALID, "state")


@pytest.mark.contract("5.7/ten-minutes")
async def test_a_flow_expires_after_ten_minutes(database: engine.Database) -> None:
    await _start("one")

    with pytest.raises(Refused) as refused:
        await oauth_flows.take("one", "c-1", now=NOW + 600)

    assert (refused.value.code, refused.value.member) == (Code.STATE_EXPIRED, "state")


async def test_starting_a_flow_deletes_expired_ones(database: engine.Database) -> None:
    await _start("old")
    await _start("young", NOW + 1)

    await _start("new", NOW + 600)

    assert sorted([str(row["id"]) for row in await OAuthFlow.select(OAuthFlow.id)]) == ["new", "young"]


@pytest.mark.contract("D-07/bounded")
async def test_the_number_of_flows_under_way_is_limited(
    database: engine.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth_flows, "MOST", 2)
    await _start("one")
    await _start("two")

    with pytest.raises(RateLimited) as refused:
        await _start("three", now=NOW + 500)

    assert (refused.value.code, refused.value.retry_after) == (Code.RATE_LIMITED, 100)
    assert (await oauth_flows.take("one", "c-1", now=NOW)).id == "one"
