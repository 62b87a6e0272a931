"""Tests of the callback that are neither in the suite nor in tests/refusals/oauth (contract 4.5, 2.7, D-09)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import respx

from chatkey_server import logs
from chatkey_server.identity.tokens import IdentityToken, Profile
from chatkey_server.storage import admin
from chatkey_server.storage.tables import ChatCustomer

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient


PATH = "/v1/public/oauth/github/callback"
CODE = "9f86d081884c7d659a2f"
UNVERIFIED = {"email": "rhea@example.com", "primary": True, "verified": False}

Start = Callable[..., Awaitable[str]]
Delivered = Callable[[httpx.Response], "dict[str, Any] | None"]
IdentityIn = Callable[..., Awaitable[IdentityToken]]
NobodyCameIn = Callable[..., Awaitable[None]]


# which requests are accepted


@pytest.mark.contract("D-03/parameter-400")
@pytest.mark.parametrize(("more", "status"), [(27, 502), (28, 400)])
async def test_query_and_form_have_32_parameters_together_and_no_more(
    client: ServerClient, start: Start, more: int, status: int
) -> None:
    given = f"state={await start()}&error=server_error" + "&x=1" * more
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    answer = await client.post(f"{PATH}?y=1&y=1&y=1", content=given, headers=form)

    assert answer.status_code == status


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


# refusals that are reported to the opener


@pytest.mark.contract("4.4/enabled-only", "D-07/still-allowed", "D-03/provider-off")
@pytest.mark.parametrize(("code", "status"), [("social_disabled", 404), ("provider_off", 403)])
async def test_a_business_or_login_that_was_switched_off_meanwhile_is_refused_and_the_opener_told(
    *,
    client: ServerClient,
    start: Start,
    github: respx.MockRouter,
    nobody_came_in: NobodyCameIn,
    code: str,
    status: int,
) -> None:
    state, now = await start(nonce="n-1"), client.services.clock()
    if code == "provider_off":
        await admin.update_provider("shop", now=now, enabled=False)
    else:
        await admin.set_social("shop", "github", now=now, enabled=False)
    client.services.providers.forget()

    answer = await client.get(PATH, params={"state": state, "code": CODE})

    assert answer.status_code == status
    await nobody_came_in(answer, code, "n-1")
    assert github["token"].call_count == 0


@pytest.mark.contract("D-09/error")
@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"error": "access_denied"}, "oauth_denied"),
        ({"error": "access_denied", "code": CODE}, "oauth_denied"),
        (
            {"error": "access_denied", "error_description": "<b>no</b>", "error_uri": "https://docs.example"},
            "oauth_denied",
        ),
        ({"error": "access_denied", "error_reason": "user_denied", "error_code": "200"}, "oauth_denied"),
        ({"error": "user_cancelled_authorize"}, "oauth_denied"),
        ({"error_reason": "user_denied", "code": CODE}, "oauth_denied"),
        ({"error": "application_suspended", "code": CODE}, "oauth_failed"),
        ({"error_code": "1349126", "error_message": "App not active"}, "oauth_failed"),
    ],
)
async def test_an_error_tells_the_opener_and_wins_over_a_code(
    *,
    client: ServerClient,
    start: Start,
    github: respx.MockRouter,
    said: dict[str, str],
    code: str,
    nobody_came_in: NobodyCameIn,
) -> None:
    state = await start(nonce="n-1")

    answer = await client.get(PATH, params={"state": state} | said)

    assert answer.status_code == (400 if code == "oauth_denied" else 502)
    await nobody_came_in(answer, code, "n-1")
    assert "<b>no" not in answer.text
    if code == "oauth_failed":
        assert f"GitHub did not sign you in ({said.get('error') or said['error_code']})" in answer.text
    assert github["token"].call_count == 0


@pytest.mark.parametrize("code", ["4/0AbCd_x-y", "a*b!c", "AQ" + "x" * 2000])
async def test_a_code_reaches_the_social_provider_as_it_came(
    client: ServerClient, start: Start, github: respx.MockRouter, code: str
) -> None:
    await client.get(PATH, params={"state": await start(), "code": code})

    form = httpx.QueryParams(github["token"].calls.last.request.content.decode())
    assert form["code"] == code


# the member


@pytest.mark.contract("D-11/keyed", "2.7/same-record")
@pytest.mark.parametrize(
    ("profile", "emails"),
    [
        pytest.param({"id": "5830217", "name": "Rhea Quill"}, [], id="subject-as-text"),
        pytest.param(
            {"id": 5830217, "name": "Rhea 🦜 Quill"}, [{"email": None, "primary": True}], id="emoji-null-email"
        ),
        pytest.param({"id": 5830217, "name": "ريا كويل", "email": None}, [], id="right-to-left-no-email"),
        pytest.param({"id": 5830217, "name": None, "login": "rhea"}, [UNVERIFIED], id="unverified-email"),
    ],
)
async def test_the_subject_identifies_the_person_whatever_the_profile_contains(
    client: ServerClient,
    start: Start,
    github: respx.MockRouter,
    profile: dict[str, Any],
    emails: list[dict[str, Any]],
) -> None:
    """F181: each subject must have one record. An unverified email address must be left out and join no records."""
    await client.get(PATH, params={"state": await start(), "code": CODE})
    github["emails"].respond(json=emails)

    for seen in (profile, {**profile, "id": 77}):
        github["profile"].respond(json=seen)
        await client.get(PATH, params={"state": await start(), "code": CODE})

    members = {member.uid: member for member in await ChatCustomer.objects()}
    assert members.keys() == {"github:5830217", "github:77"}
    assert members["github:77"].name == (profile["name"] or profile["login"])
    assert members["github:77"].email is None


@pytest.mark.contract("D-11/kept", "2.7/same-record", "2.7/social-record", "3/social-click", "4.5/steps")
async def test_a_second_login_updates_the_record_and_keeps_members_that_are_missing(
    client: ServerClient, start: Start, github: respx.MockRouter, identity_in: IdentityIn
) -> None:
    """F199, F200: the callback must create the record, and the second login must store the current name."""
    await client.get(PATH, params={"state": await start(), "code": CODE})
    github["profile"].respond(json={"id": 5830217, "login": "rhea"})
    github["emails"].respond(404, json={"message": "Not Found"})

    identity = await identity_in(await client.get(PATH, params={"state": await start(), "code": CODE}))

    assert identity.profile == Profile("rhea", "rhea@example.com", "https://avatars.example/u/1", "github")
    assert identity.jkt is None
    (member,) = await ChatCustomer.objects()
    assert (member.login, member.uid, member.auth_provider) == ("social", "github:5830217", "github")
    assert (member.name, member.email, member.avatar) == ("rhea", "rhea@example.com", "https://avatars.example/u/1")


@pytest.mark.contract("D-11/keyed")
async def test_the_same_email_at_two_social_providers_is_two_members(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    """F182: an email address does not identify a person."""
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
