"""Tests of `state` at the callback: signed, valid for ten minutes, usable once (contract 5.7, D-05, D-07)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import respx

from chatkey_server.identity import oauth_state

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

    from chatkey_server.clock import Clock

PATH = "/v1/public/oauth/github/callback"
CODE = "9f86d081884c7d659a2f"

Start = Callable[..., Awaitable[str]]
Delivered = Callable[[httpx.Response], "dict[str, Any] | None"]


@pytest.mark.contract("D-07/single-use", "D-03/state-400")
async def test_a_state_is_good_once(
    client: ServerClient, start: Start, github: respx.MockRouter, delivered: Delivered
) -> None:
    state = await start(nonce="n-1")
    first = await client.get(PATH, params={"state": state, "code": CODE})

    second = await client.get(PATH, params={"state": state, "code": "another-code"})

    assert (first.status_code, second.status_code) == (200, 400)
    delivery = delivered(second)
    assert delivery is not None
    assert delivery["message"]["error"]["code"] == "state_used"
    assert github["token"].call_count == 1


async def test_only_one_of_two_callbacks_with_the_same_state_succeeds(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    state = await start()

    answers = await asyncio.gather(*(client.get(PATH, params={"state": state, "code": CODE}) for _ in range(5)))

    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400, 400]


@pytest.mark.contract("8/state-validity", "5.7/ten-minutes", "D-03/state-400")
@pytest.mark.parametrize("age", [0, 599, 600, 601])
async def test_a_state_lives_ten_minutes_and_the_opener_gets_an_error_afterwards(
    *, client: ServerClient, clock: Clock, start: Start, github: respx.MockRouter, delivered: Delivered, age: int
) -> None:
    state = await start(nonce="n-1")
    clock.advance(age)

    answer = await client.get(PATH, params={"state": state, "code": CODE})

    assert answer.status_code == (200 if age < 600 else 400)
    delivery = delivered(answer)
    assert delivery is not None
    assert delivery["message"]["nonce"] == "n-1"
    assert delivery["message"].get("error", {}).get("code") == (None if age < 600 else "state_expired")


@pytest.mark.contract("4.5/steps", "5.7/state", "D-03/state-400")
@pytest.mark.parametrize(
    "case",
    [
        (lambda state: "", "parameter_missing"),
        (lambda state: "x", "state_invalid"),
        (lambda state: ("A" if state[0] != "A" else "B") + state[1:], "state_invalid"),
        (lambda state: state[:-2] + ("A" if state[-2] != "A" else "B") + state[-1], "state_invalid"),
        (lambda state: state[:-1], "state_invalid"),
        (lambda state: state + "=", "state_invalid"),
        (lambda state: state * 12, "state_invalid"),
        (lambda state: state * 100, "parameter_invalid"),
    ],
    ids=["empty", "garbage", "payload", "mac", "truncated", "padded", "long", "very-long"],
)
async def test_a_foreign_state_is_400_and_the_opener_gets_no_message(
    client: ServerClient,
    start: Start,
    github: respx.MockRouter,
    delivered: Delivered,
    case: tuple[Callable[[str], str], str],
) -> None:
    spoil, code = case
    state = spoil(await start())

    answer = await client.get(PATH, params={"state": state, "code": CODE})

    assert answer.status_code == 400
    assert code in answer.text
    assert delivered(answer) is None
    assert github["token"].call_count == 0


async def test_a_state_of_another_social_provider_is_400(
    client: ServerClient, start: Start, delivered: Delivered
) -> None:
    answer = await client.get(PATH, params={"state": await start("google"), "code": CODE})

    assert answer.status_code == 400
    assert "state_invalid" in answer.text
    assert delivered(answer) is None


@pytest.mark.contract("D-05/state-key")
async def test_a_state_signed_with_a_providers_secret_is_400(client: ServerClient, start: Start) -> None:
    services = client.services
    genuine = oauth_state.read(await start(), services.vault.state_keys, social="github")
    secret = (await services.providers.get("shop")).secrets.current

    answer = await client.get(PATH, params={"state": oauth_state.mint(secret, genuine), "code": CODE})

    assert answer.status_code == 400
    assert "state_invalid" in answer.text


async def test_head_does_not_use_the_state_up(client: ServerClient, start: Start, github: respx.MockRouter) -> None:
    params = {"state": await start(), "code": CODE}

    looked = await client.head(PATH, params=params)

    assert (looked.status_code, looked.content) == (200, b"")
    assert github["token"].call_count == 0
    assert (await client.get(PATH, params=params)).status_code == 200
