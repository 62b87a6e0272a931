"""Tests of the callback of a successful login: token, member, message (contract 4.5, 2.5, 2.7, D-09)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import respx

from chatkey_server.identity.tokens import IdentityToken, Profile
from chatkey_server.storage.tables import ChatCustomer

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient


ORIGIN = "https://shop.example"
PATH = "/v1/public/oauth/github/callback"
CODE = "9f86d081884c7d659a2f"
UNVERIFIED = {"email": "rhea@example.com", "primary": True, "verified": False}
OTHER_JKT = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"

Start = Callable[..., Awaitable[str]]
Delivered = Callable[[httpx.Response], "dict[str, Any] | None"]
IdentityIn = Callable[..., Awaitable[IdentityToken]]


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
    client: ServerClient, start: Start, github: respx.MockRouter, identity_in: IdentityIn
) -> None:
    answer = await client.get(PATH, params={"state": await start(), "code": CODE})

    identity = await identity_in(answer)
    assert str(identity.uid) == "github:5830217"
    assert identity.expires_at == int(client.services.clock()) + 86_400
    assert identity.profile == Profile("Rhea Quill", "rhea@example.com", "https://avatars.example/u/1", "github")
    assert identity.jkt is None


@pytest.mark.contract("D-07/bound-identity", "4.3/exchange", "D-05/identity")
async def test_a_login_started_with_a_key_is_worthless_with_another(
    client: ServerClient, start: Start, github: respx.MockRouter, delivered: Delivered, identity_in: IdentityIn
) -> None:
    """F184: a thief may have the identity token, but does not have the key to which the token is bound."""
    answer = await client.get(PATH, params={"state": await start(jkt=JKT), "code": CODE})

    delivery = delivered(answer)
    assert (await identity_in(answer)).jkt == JKT
    assert delivery is not None
    auth = delivery["message"]["token"]
    exchange = "/v1/public/provider/shop/member/token"
    assert (await client.get(exchange, params={"auth": auth, "jkt": JKT})).status_code == 200
    assert (await client.get(exchange, params={"auth": auth, "jkt": OTHER_JKT})).status_code == 401


@pytest.mark.contract("4.5/get-and-post")
async def test_a_posted_form_is_answered_with_200_too(
    client: ServerClient, start: Start, github: respx.MockRouter, identity_in: IdentityIn
) -> None:
    answer = await client.post(PATH, data={"state": await start(), "code": CODE, "user": '{"name": {}}'})

    assert answer.status_code == 200
    assert str((await identity_in(answer)).uid) == "github:5830217"


@pytest.mark.contract("4.5/steps", "2.7/social-record", "3/social-click")
async def test_the_member_is_recorded_with_its_social_provider(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    """F199: the callback must create the record before the member has written anything."""
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
    """F200: the second login must store the current name and avatar."""
    avatar = "https://avatars.example/u/2"
    await client.get(PATH, params={"state": await start(), "code": CODE})
    github["profile"].respond(json={"id": 5830217, "login": "rhea", "name": "Rhea Q. Quill", "avatar_url": avatar})

    await client.get(PATH, params={"state": await start(), "code": CODE})

    (member,) = await ChatCustomer.objects()
    assert (member.name, member.avatar) == ("Rhea Q. Quill", avatar)


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


@pytest.mark.contract("D-11/kept", "2.7/same-record")
async def test_members_missing_in_a_later_login_are_kept_and_in_its_identity_token(
    client: ServerClient, start: Start, github: respx.MockRouter, identity_in: IdentityIn
) -> None:
    await client.get(PATH, params={"state": await start(), "code": CODE})
    github["profile"].respond(json={"id": 5830217, "login": "rhea"})
    github["emails"].respond(404, json={"message": "Not Found"})

    answer = await client.get(PATH, params={"state": await start(), "code": CODE})

    profile = (await identity_in(answer)).profile
    assert profile == Profile("rhea", "rhea@example.com", "https://avatars.example/u/1", "github")
    (member,) = await ChatCustomer.objects()
    assert (member.name, member.email, member.avatar) == (profile.name, profile.email, profile.avatar)


async def test_two_callbacks_of_a_new_member_at_once_make_one_record(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    states = [await start(), await start()]

    answers = await asyncio.gather(*(client.get(PATH, params={"state": state, "code": CODE}) for state in states))

    assert [answer.status_code for answer in answers] == [200, 200]
    assert await ChatCustomer.count() == 1


@pytest.mark.contract("D-11/keyed")
async def test_the_same_person_at_two_providers_is_two_members(
    client: ServerClient,
    start: Start,
    boutique: str,
    github: respx.MockRouter,
    identity_in: IdentityIn,
) -> None:
    await client.get(PATH, params={"state": await start(), "code": CODE})

    answer = await client.get(PATH, params={"state": await start(provider=boutique), "code": CODE})

    await identity_in(answer, boutique)
    assert {member.provider for member in await ChatCustomer.objects()} == {"shop", "boutique"}


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


@pytest.mark.contract("1/mode-service-keys", "1/mode-own-keys")
async def test_the_code_is_exchanged_with_the_keys_of_the_key_source(
    client: ServerClient, start: Start, boutique: str, github: respx.MockRouter
) -> None:
    await client.get(PATH, params={"state": await start(), "code": CODE})
    await client.get(PATH, params={"state": await start(provider=boutique), "code": CODE})

    service_owned, own = [call.request.content.decode() for call in github["token"].calls]
    assert "client_id=our-github-client&client_secret=our-github-secret" in service_owned
    assert "client_id=boutique-github-client&client_secret=boutique-github-secret" in own
