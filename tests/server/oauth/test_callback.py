"""The callback of a social login (contract 4.5, 2.5, 2.7, D-03, D-09)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import respx

from chatkey_server import logs
from chatkey_server.identity import oauth_state
from chatkey_server.identity.tokens import IdentityToken, Profile, read_identity_token
from chatkey_server.storage import admin
from chatkey_server.storage.tables import ChatCustomer

if TYPE_CHECKING:
    from tests.server.conftest import ServerClient

    from chatkey_server.clock import Clock

ORIGIN = "https://shop.example"
PATH = "/v1/public/oauth/github/callback"
CODE = "9f86d081884c7d659a2f"
JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
FORM = "application/x-www-form-urlencoded"
OTHER_JKT = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"

Start = Callable[..., Awaitable[str]]
Delivered = Callable[[httpx.Response], "dict[str, Any] | None"]


async def identity_in(client: ServerClient, delivery: Mapping[str, Any] | None, pid: str = "shop") -> IdentityToken:
    assert delivery is not None
    provider = await client.services.providers.get(pid)
    return read_identity_token(delivery["message"]["token"], provider.secrets, pid=pid, now=client.services.clock())


async def assert_nobody_came_in(delivery: Mapping[str, Any] | None, code: str, nonce: str | None = None) -> None:
    """The opener was told the code and nothing else, and no member was made."""
    assert delivery is not None
    assert delivery["origin"] == ORIGIN
    message = delivery["message"]
    assert message["error"]["code"] == code
    assert message["error"]["message"]
    assert message.get("nonce") == nonce
    assert "token" not in message
    assert await ChatCustomer.count() == 0


@pytest.mark.contract("4.5/page", "6/post-message", "D-09/message", "D-07/nonce-returned")
async def test_a_completed_login_hands_the_identity_token_to_the_registered_origin(
    client: ServerClient, start: Start, github: respx.MockRouter, delivered: Delivered
) -> None:
    state = await start(nonce="n-1", jkt=JKT)

    answer = await client.get(PATH, params={"state": state, "code": CODE})

    assert answer.status_code == 200
    delivery = delivered(answer)
    assert delivery is not None
    token = delivery["message"].pop("token")
    assert delivery == {
        "origin": ORIGIN,
        "message": {"type": "wf:oauth", "providerId": "shop", "social": "github", "nonce": "n-1"},
    }
    assert token.count(".") == 2
    assert "window.close()" in answer.text


@pytest.mark.contract("2.5/24h", "2.5/uid-form", "8/identity-24h", "D-05/identity")
async def test_the_identity_token_lives_a_day_and_says_who_it_is(
    client: ServerClient, start: Start, github: respx.MockRouter, delivered: Delivered
) -> None:
    answer = await client.get(PATH, params={"state": await start(), "code": CODE})

    identity = await identity_in(client, delivered(answer))
    assert identity.uid == "github:5830217"
    assert identity.expires_at == int(client.services.clock()) + 86_400
    assert identity.profile == Profile("Rhea Quill", "rhea@example.com", "https://avatars.example/u/1", "github")
    assert identity.jkt is None


@pytest.mark.contract("D-07/bound-identity", "4.3/exchange", "D-05/identity")
async def test_a_login_started_with_a_key_is_worthless_with_another(
    client: ServerClient, start: Start, github: respx.MockRouter, delivered: Delivered
) -> None:
    answer = await client.get(PATH, params={"state": await start(jkt=JKT), "code": CODE})

    delivery = delivered(answer)
    assert (await identity_in(client, delivery)).jkt == JKT
    assert delivery is not None
    auth = delivery["message"]["token"]
    exchange = "/v1/public/provider/shop/member/token"
    assert (await client.get(exchange, params={"auth": auth, "jkt": JKT})).status_code == 200
    assert (await client.get(exchange, params={"auth": auth, "jkt": OTHER_JKT})).status_code == 401


@pytest.mark.contract("4.5/get-and-post")
async def test_a_posted_form_is_answered_with_200_too(
    client: ServerClient, start: Start, github: respx.MockRouter, delivered: Delivered
) -> None:
    answer = await client.post(PATH, data={"state": await start(), "code": CODE, "user": '{"name": {}}'})

    assert answer.status_code == 200
    assert (await identity_in(client, delivered(answer))).uid == "github:5830217"


@pytest.mark.contract("4.5/steps", "2.7/social-record", "3/social-click")
async def test_the_member_is_recorded_with_its_social_provider(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    await client.get(PATH, params={"state": await start(), "code": CODE})

    (member,) = await ChatCustomer.objects()
    assert (member.provider, member.login, member.uid) == ("shop", "social", "github:5830217")
    assert member.auth_provider == "github"
    assert (member.name, member.email, member.avatar) == (
        "Rhea Quill",
        "rhea@example.com",
        "https://avatars.example/u/1",
    )


@pytest.mark.contract("2.7/same-record", "4.5/steps")
async def test_a_second_login_updates_the_same_record(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    await client.get(PATH, params={"state": await start(), "code": CODE})
    github["profile"].respond(json={"id": 5830217, "login": "rhea", "name": "Rhea Q. Quill"})

    await client.get(PATH, params={"state": await start(), "code": CODE})

    (member,) = await ChatCustomer.objects()
    assert member.name == "Rhea Q. Quill"


async def test_two_callbacks_of_a_new_member_at_once_make_one_record(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    states = [await start(), await start()]

    answers = await asyncio.gather(*(client.get(PATH, params={"state": state, "code": CODE}) for state in states))

    assert [answer.status_code for answer in answers] == [200, 200]
    assert await ChatCustomer.count() == 1


@pytest.mark.contract("D-11/keyed")
async def test_the_same_person_at_two_providers_is_two_members(
    client: ServerClient, start: Start, boutique: str, github: respx.MockRouter, delivered: Delivered
) -> None:
    await client.get(PATH, params={"state": await start(), "code": CODE})

    answer = await client.get(PATH, params={"state": await start(provider=boutique), "code": CODE})

    await identity_in(client, delivered(answer), boutique)
    assert {member.provider for member in await ChatCustomer.objects()} == {"shop", "boutique"}


@pytest.mark.contract("D-11/keyed")
async def test_the_same_email_at_two_social_providers_is_two_members(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    github.post("https://discord.com/api/oauth2/token").respond(json={"access_token": "a", "token_type": "Bearer"})
    github.get("https://discord.com/api/users/@me").respond(
        json={"id": "7", "username": "rhea", "email": "rhea@example.com", "verified": True}
    )

    await client.get(PATH, params={"state": await start(), "code": CODE})
    await client.get("/v1/public/oauth/discord/callback", params={"state": await start("discord"), "code": CODE})

    members = await ChatCustomer.objects()
    assert {(member.uid, member.email) for member in members} == {
        ("github:5830217", "rhea@example.com"),
        ("discord:7", "rhea@example.com"),
    }


@pytest.mark.contract("1/mode-service-keys", "1/mode-own-keys")
async def test_the_code_is_exchanged_with_the_keys_of_the_key_source(
    client: ServerClient, start: Start, boutique: str, github: respx.MockRouter
) -> None:
    await client.get(PATH, params={"state": await start(), "code": CODE})
    await client.get(PATH, params={"state": await start(provider=boutique), "code": CODE})

    service_owned, own = [call.request.content.decode() for call in github["token"].calls]
    assert "client_id=our-github-client&client_secret=our-github-secret" in service_owned
    assert "client_id=boutique-github-client&client_secret=boutique-github-secret" in own


# the state


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


async def test_of_two_callbacks_with_one_state_a_single_one_gets_in(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    state = await start()

    answers = await asyncio.gather(*(client.get(PATH, params={"state": state, "code": CODE}) for _ in range(5)))

    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400, 400]


@pytest.mark.contract("8/state-validity", "5.7/ten-minutes", "D-03/state-400")
@pytest.mark.parametrize("age", [0, 599, 600, 601])
async def test_a_state_lives_ten_minutes(
    client: ServerClient, clock: Clock, start: Start, github: respx.MockRouter, age: int
) -> None:
    state = await start()
    clock.advance(age)

    answer = await client.get(PATH, params={"state": state, "code": CODE})

    assert answer.status_code == (200 if age < 600 else 400)
    assert ("state_expired" in answer.text) == (age >= 600)


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
async def test_a_state_that_is_not_ours_is_400_and_nobody_is_told(
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
    genuine = oauth_state.read(await start(), services.vault.state_keys, social="github", now=services.clock())
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


# what changed meanwhile


@pytest.mark.contract("4.4/enabled-only", "D-07/still-allowed")
async def test_a_social_login_that_was_switched_off_meanwhile_is_404(
    client: ServerClient, start: Start, github: respx.MockRouter, delivered: Delivered
) -> None:
    state = await start(nonce="n-1")
    await admin.set_social("shop", "github", now=client.services.clock(), enabled=False)
    client.services.providers.forget()

    answer = await client.get(PATH, params={"state": state, "code": CODE})

    assert answer.status_code == 404
    await assert_nobody_came_in(delivered(answer), "social_disabled", "n-1")
    assert github["token"].call_count == 0


@pytest.mark.contract("5.7/verified-origin", "D-07/still-allowed")
async def test_an_origin_that_is_no_longer_registered_is_told_nothing(
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
    client: ServerClient, start: Start, github: respx.MockRouter, delivered: Delivered
) -> None:
    state = await start()
    await admin.update_provider("shop", now=client.services.clock(), enabled=False)
    client.services.providers.forget()

    answer = await client.get(PATH, params={"state": state, "code": CODE})

    assert answer.status_code == 403
    await assert_nobody_came_in(delivered(answer), "provider_off")


# what the social provider says


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
    delivered: Delivered,
    said: dict[str, str],
) -> None:
    state = await start(nonce="n-1")

    answer = await client.get(PATH, params={"state": state} | said)

    assert answer.status_code == 400
    await assert_nobody_came_in(delivered(answer), "oauth_denied", "n-1")
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
    client: ServerClient, start: Start, github: respx.MockRouter, delivered: Delivered, case: tuple[dict[str, str], str]
) -> None:
    said, word = case

    answer = await client.get(PATH, params={"state": await start()} | said)

    assert answer.status_code == 502
    await assert_nobody_came_in(delivered(answer), "oauth_failed")
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
    delivered: Delivered,
    case: tuple[dict[str, str], str],
) -> None:
    code, error = case

    answer = await client.get(PATH, params={"state": await start()} | code)

    assert answer.status_code == 400
    await assert_nobody_came_in(delivered(answer), error)
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
async def test_a_failure_behind_the_scenes_is_a_502_page_and_leaves_nothing(
    client: ServerClient,
    start: Start,
    github: respx.MockRouter,
    delivered: Delivered,
    failure: tuple[str, httpx.Response | Exception],
) -> None:
    route, what = failure
    github[route].mock(side_effect=[what])

    page = await client.get(PATH, params={"state": await start(nonce="n-1"), "code": CODE})

    assert page.status_code == 502
    await assert_nobody_came_in(delivered(page), "oauth_failed", "n-1")
    assert "GitHub" in page.text


# how it may be asked


@pytest.mark.contract("D-03/parameter-400")
@pytest.mark.parametrize("name", ["state", "code", "iss", "error"])
async def test_a_parameter_given_twice_is_400(client: ServerClient, start: Start, name: str) -> None:
    query = httpx.QueryParams([("state", await start()), ("code", CODE), (name, "x"), (name, "x")])

    answer = await client.get(PATH, params=query)

    assert answer.status_code == 400
    assert "parameter_repeated" in answer.text


async def test_a_parameter_in_both_query_and_form_is_400(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    state = await start()

    answer = await client.post(PATH, params={"code": "of-the-query"}, data={"state": state, "code": CODE})

    assert answer.status_code == 400
    assert "parameter_repeated" in answer.text
    assert github["token"].call_count == 0


async def test_a_body_of_a_get_is_not_read(client: ServerClient, start: Start) -> None:
    body = httpx.QueryParams({"state": await start(), "code": CODE})

    answer = await client.request("GET", PATH, content=str(body), headers={"Content-Type": FORM})

    assert answer.status_code == 400
    assert "parameter_missing" in answer.text


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data; boundary=x", ""])
async def test_a_post_of_another_content_type_is_415(
    client: ServerClient, start: Start, delivered: Delivered, content_type: str
) -> None:
    body = str(httpx.QueryParams({"state": await start(), "code": CODE}))

    answer = await client.post(PATH, content=body, headers={"Content-Type": content_type})

    assert answer.status_code == 415
    assert delivered(answer) is None


@pytest.mark.parametrize("content_type", [FORM, FORM + ";charset=UTF-8", "Application/X-WWW-Form-URLencoded"])
async def test_a_form_may_say_its_charset(
    client: ServerClient, start: Start, github: respx.MockRouter, content_type: str
) -> None:
    body = str(httpx.QueryParams({"state": await start(), "code": CODE}))

    answer = await client.post(PATH, content=body, headers={"Content-Type": content_type})

    assert answer.status_code == 200


async def test_a_huge_form_is_413(client: ServerClient) -> None:
    answer = await client.post(PATH, content=b"x" * 70_000, headers={"Content-Type": FORM})

    assert answer.status_code == 413


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
async def test_other_methods_are_405(client: ServerClient, method: str) -> None:
    answer = await client.request(method, PATH)

    assert answer.status_code == 405
    assert {"GET", "POST"} <= set(answer.headers["allow"].replace(" ", "").split(","))


@pytest.mark.contract("D-03/social-unknown")
@pytest.mark.parametrize("social", ["apple", "myspace", "GITHUB"])
async def test_the_callback_of_an_unknown_social_is_404(
    client: ServerClient, delivered: Delivered, social: str
) -> None:
    answer = await client.get(f"/v1/public/oauth/{social}/callback", params={"state": "x", "code": CODE})

    assert answer.status_code == 404
    assert delivered(answer) is None


@pytest.mark.contract("D-02/no-secret-in-errors")
async def test_nothing_secret_reaches_the_log(
    client: ServerClient, start: Start, github: respx.MockRouter, delivered: Delivered
) -> None:
    events: list[str] = []
    with logs.listening(lambda event: events.append(repr(dict(event)))):
        state = await start()
        answer = await client.get(PATH, params={"state": state, "code": CODE})
        await client.get(PATH, params={"state": state, "code": CODE})

    delivery = delivered(answer)
    assert delivery is not None
    told = "\n".join(events)
    for word in ("oauth.start", "oauth.callback", "oauth.refused"):
        assert word in told
    for secret in (state, CODE, delivery["message"]["token"], "our-github-secret", "gho_A1"):
        assert secret not in told
