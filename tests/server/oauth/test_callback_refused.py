"""Tests of the callback after the business or the social provider has refused the login (contract 4.5, D-09)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import respx

from chatkey_server.storage import admin
from chatkey_server.storage.tables import ChatCustomer

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient


PATH = "/v1/public/oauth/github/callback"
CODE = "9f86d081884c7d659a2f"

Start = Callable[..., Awaitable[str]]
Delivered = Callable[[httpx.Response], "dict[str, Any] | None"]
NobodyCameIn = Callable[..., Awaitable[None]]


@pytest.mark.contract("4.4/enabled-only", "D-07/still-allowed")
async def test_a_social_login_that_was_switched_off_meanwhile_is_404(
    client: ServerClient, start: Start, github: respx.MockRouter, nobody_came_in: NobodyCameIn
) -> None:
    state = await start(nonce="n-1")
    await admin.set_social("shop", "github", now=client.services.clock(), enabled=False)
    client.services.providers.forget()

    answer = await client.get(PATH, params={"state": state, "code": CODE})

    assert answer.status_code == 404
    await nobody_came_in(answer, "social_disabled", "n-1")
    assert github["token"].call_count == 0


@pytest.mark.contract("5.7/verified-origin", "D-07/still-allowed")
async def test_an_origin_that_is_no_longer_registered_gets_no_message(
    client: ServerClient, start: Start, github: respx.MockRouter, delivered: Delivered
) -> None:
    state = await start()
    await admin.set_domains("shop", ["new.example"], now=client.services.clock())
    client.services.providers.forget()

    answer = await client.get(PATH, params={"state": state, "code": CODE})

    assert answer.status_code == 400
    assert "state_invalid" in answer.text
    assert delivered(answer) is None
    assert await ChatCustomer.count() == 0


@pytest.mark.contract("D-03/provider-off", "D-07/still-allowed")
async def test_a_provider_that_was_switched_off_meanwhile_is_403(
    client: ServerClient, start: Start, github: respx.MockRouter, nobody_came_in: NobodyCameIn
) -> None:
    state = await start()
    await admin.update_provider("shop", now=client.services.clock(), enabled=False)
    client.services.providers.forget()

    answer = await client.get(PATH, params={"state": state, "code": CODE})

    assert answer.status_code == 403
    await nobody_came_in(answer, "provider_off")


# errors from the social provider


@pytest.mark.contract("D-09/error")
@pytest.mark.parametrize(
    "said",
    [
        {"error": "access_denied"},
        {"error": "access_denied", "code": CODE},
        {"error": "access_denied", "error_description": "<b>no</b>", "error_uri": "https://docs.example"},
        {"error": "access_denied", "error_reason": "user_denied", "error_code": "200"},
        {"error": "user_cancelled_authorize"},
        {"error_reason": "user_denied", "code": CODE},
    ],
)
async def test_a_denied_consent_tells_the_opener_and_wins_over_a_code(
    client: ServerClient,
    start: Start,
    github: respx.MockRouter,
    said: dict[str, str],
    nobody_came_in: NobodyCameIn,
) -> None:
    state = await start(nonce="n-1")

    answer = await client.get(PATH, params={"state": state} | said)

    assert answer.status_code == 400
    await nobody_came_in(answer, "oauth_denied", "n-1")
    assert "<b>no" not in answer.text
    assert github["token"].call_count == 0


@pytest.mark.parametrize(
    "case",
    [
        ({"error": "server_error"}, "(server_error)"),
        ({"error": "application_suspended", "code": CODE}, "(application_suspended)"),
        ({"error_code": "1349126", "error_message": "App not active"}, "(1349126)"),
        ({"error": ""}, "(unknown error)"),
        ({"error": "</script><script>alert(1)</script>"}, "(unknown error)"),
        ({"error": "x" * 10_240}, "(unknown error)"),
    ],
)
async def test_any_other_error_is_a_failure_whose_words_are_not_repeated(
    client: ServerClient,
    start: Start,
    github: respx.MockRouter,
    case: tuple[dict[str, str], str],
    nobody_came_in: NobodyCameIn,
) -> None:
    said, word = case

    answer = await client.get(PATH, params={"state": await start()} | said)

    assert answer.status_code == 502
    await nobody_came_in(answer, "oauth_failed")
    assert f"GitHub did not sign you in {word}" in answer.text
    assert "alert(1)" not in answer.text
    assert github["token"].call_count == 0


async def test_an_error_without_a_state_is_a_400_page(client: ServerClient, delivered: Delivered) -> None:
    answer = await client.get(PATH, params={"error": "access_denied"})

    assert answer.status_code == 400
    assert "parameter_missing" in answer.text
    assert delivered(answer) is None


@pytest.mark.contract("D-07/issuer")
@pytest.mark.parametrize(
    ("iss", "status"),
    [
        (None, 200),
        ("https://github.com/login/oauth", 200),
        ("https://github.com", 400),
        ("https://accounts.google.com", 400),
        ("", 400),
    ],
)
async def test_an_issuer_in_the_answer_must_be_the_providers(
    client: ServerClient, start: Start, github: respx.MockRouter, iss: str | None, status: int
) -> None:
    params = {"state": await start(), "code": CODE} | ({} if iss is None else {"iss": iss})

    answer = await client.get(PATH, params=params)

    assert answer.status_code == status
    assert github["token"].call_count == (1 if status == 200 else 0)


@pytest.mark.contract("D-07/issuer")
async def test_an_issuer_is_ignored_where_the_provider_has_none(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    github.post("https://discord.com/api/oauth2/token").respond(json={"access_token": "a", "token_type": "Bearer"})
    github.get("https://discord.com/api/users/@me").respond(json={"id": "7", "username": "rhea"})
    params = {"state": await start("discord"), "code": CODE, "iss": "https://discord.com"}

    assert (await client.get("/v1/public/oauth/discord/callback", params=params)).status_code == 200


@pytest.mark.parametrize(
    "case",
    [
        ({}, "parameter_missing"),
        ({"code": ""}, "parameter_missing"),
        ({"code": "x" * 2049}, "parameter_invalid"),
        ({"code": "a\nb"}, "parameter_invalid"),
        ({"code": "é"}, "parameter_invalid"),
    ],
)
async def test_a_missing_or_impossible_code_is_400(
    client: ServerClient,
    start: Start,
    github: respx.MockRouter,
    case: tuple[dict[str, str], str],
    nobody_came_in: NobodyCameIn,
) -> None:
    code, error = case

    answer = await client.get(PATH, params={"state": await start()} | code)

    assert answer.status_code == 400
    await nobody_came_in(answer, error)
    assert github["token"].call_count == 0


@pytest.mark.parametrize("code", ["4/0AbCd_x-y", "a*b!c", "AQ" + "x" * 2000])
async def test_a_code_reaches_the_social_provider_as_it_came(
    client: ServerClient, start: Start, github: respx.MockRouter, code: str
) -> None:
    await client.get(PATH, params={"state": await start(), "code": code})

    form = httpx.QueryParams(github["token"].calls.last.request.content.decode())
    assert form["code"] == code


async def test_parameters_that_only_some_providers_send_are_ignored(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    extra = {"scope": "email openid", "authuser": "0", "prompt": "consent", "hd": "corp.example"}

    answer = await client.get(PATH, params={"state": await start(), "code": CODE} | extra)

    assert answer.status_code == 200


@pytest.mark.contract("D-09/error")
@pytest.mark.parametrize(
    "failure",
    [
        ("token", httpx.Response(200, json={"error": "bad_verification_code"})),
        ("token", httpx.Response(503, text="<h1>busy</h1>")),
        ("token", httpx.ConnectError("refused")),
        ("profile", httpx.ReadTimeout("slow")),
        ("profile", httpx.Response(200, json={"login": "nobody"})),
        ("emails", httpx.Response(500)),
    ],
)
async def test_a_failed_request_to_the_provider_is_a_502_page_and_stores_nothing(
    client: ServerClient,
    start: Start,
    github: respx.MockRouter,
    failure: tuple[str, httpx.Response | Exception],
    nobody_came_in: NobodyCameIn,
) -> None:
    route, what = failure
    github[route].mock(side_effect=[what])

    page = await client.get(PATH, params={"state": await start(nonce="n-1"), "code": CODE})

    assert page.status_code == 502
    await nobody_came_in(page, "oauth_failed", "n-1")
    assert "GitHub" in page.text
