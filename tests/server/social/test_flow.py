"""Tests of the back channel without failures: the requests to each provider, and the person who logged in."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs

import httpx
import pytest
import respx

from chatkey_server.settings import Settings, SocialAddress
from chatkey_server.social.flow import BackChannel
from chatkey_server.social.grant import Grant
from chatkey_server.social.person import Person
from chatkey_server.social.providers import find, load
from chatkey_server.storage.providers import Application

NOW = 1_795_000_000

PEOPLE = {
    "google": Person("107691503500061507151", "Rhea Quill", "rhea@example.com", "https://lh3.example/a/x=s96-c"),
    "facebook": Person("10223344556677889", "Rhea Quill", "rhea@example.com", "https://look.example/pic?asid=1"),
    "github": Person("5830217", "rquill", "rhea@example.com", "https://avatars.example/u/5830217?v=4"),
    "gitlab": Person("48213", "Rhea Quill", "rhea@example.com", "https://gitlab.example/avatar.png"),
    "discord": Person(
        "184405311681986560",
        "Rhea Quill",
        "rhea@example.com",
        "https://cdn.discordapp.com/avatars/184405311681986560/a_33ecab261d4681afa4d85a04691c4a01.gif",
    ),
    "apple": Person("000517.8d2f.0730", None, "k7xq@privaterelay.appleid.com"),
    "x": Person("1844053116819", "Rhea Quill", "rhea@example.com", "https://pbs.example/abc_normal.jpg"),
    "tiktok": Person("723f24d7-e717-40f8-a2b6-cb8464cd23b4", "Rhea Quill", None, "https://p16.example/aweme/fake.jpeg"),
    "amazon": Person("amzn1.account.AGFAKE", "Rhea Quill", "rhea@example.com"),
}


def posted(request: httpx.Request) -> dict[str, str]:
    return {name: value for name, (value,) in parse_qs(request.content.decode()).items()}


MakeBackChannel = Callable[..., BackChannel]
MakeWorld = Callable[[str], respx.MockRouter]
LogIn = Callable[[str], Awaitable[Person]]


@pytest.mark.contract("4.5/steps")
@pytest.mark.parametrize("social", PEOPLE)
async def test_the_person_is_read_from_each_provider(social: str, make_world: MakeWorld, log_in: LogIn) -> None:
    make_world(social)

    assert await log_in(social) == PEOPLE[social]


@pytest.mark.contract("D-07/pkce")
@pytest.mark.parametrize("social", PEOPLE)
async def test_the_code_is_posted_with_its_verifier_and_the_applications_keys(
    social: str, make_world: MakeWorld, log_in: LogIn, grant: Grant
) -> None:
    """The verifier is sent if there was a challenge. Two providers need the keys in the header instead of the form."""
    world = make_world(social)

    await log_in(social)

    request = world["token"].calls.last.request
    form = posted(request)
    keys = {name: form.pop(name) for name in list(form) if name.startswith("client")}
    verifier = {} if social in {"apple", "tiktok"} else {"code_verifier": grant.verifier}
    assert form == {
        "grant_type": "authorization_code",
        "code": grant.code,
        "redirect_uri": grant.redirect_uri,
        **verifier,
    }
    assert request.url.query == b""
    if social in {"gitlab", "x"}:
        assert request.headers["Authorization"] == "Basic " + base64.b64encode(b"client-1:application-secret").decode()
        assert keys == {"client_id": "client-1"}
    elif social != "apple":
        assert keys == {
            "client_key" if social == "tiktok" else "client_id": "client-1",
            "client_secret": "application-secret",
        }
        assert "Authorization" not in request.headers


FIELDS = {
    "facebook": {
        "fields": "id,name,email,picture",
        "appsecret_proof": hmac.new(b"application-secret", b"EAAGx", "sha256").hexdigest(),
    },
    "x": {"user.fields": "profile_image_url,confirmed_email"},
    "tiktok": {"fields": "open_id,avatar_url,display_name"},
}
"""The query of a profile, for providers that need one."""


@pytest.mark.parametrize("social", PEOPLE)
async def test_every_request_names_us_and_asks_for_json_and_a_profile_needs_the_access_token(
    social: str, make_world: MakeWorld, log_in: LogIn
) -> None:
    world = make_world(social)

    await log_in(social)

    for call in world.calls:
        assert call.request.headers["User-Agent"].startswith("chatkey/")
        assert "application/json" in call.request.headers["Accept"]
        assert "application-secret" not in str(call.request.url)
    if social != "apple":
        request = world["profile"].calls.last.request
        assert request.headers["Authorization"].startswith("Bearer ")
        assert "access_token" not in str(request.url)
        assert dict(request.url.params) == FIELDS.get(social, {})


@pytest.mark.parametrize(
    ("social", "changes", "expected"),
    [
        ("google", {"email_verified": False}, {"email": None}),
        ("google", {"email_verified": "true"}, {"email": None}),
        ("google", {"name": None, "picture": None}, {"name": None, "avatar": None}),
        ("gitlab", {"email_verified": None}, {"email": None}),
        ("gitlab", {"name": "", "preferred_username": "rquill"}, {"name": "rquill"}),
        ("facebook", {"email": None, "picture": None}, {"email": None, "avatar": None}),
        ("facebook", {"picture": {"data": []}}, {"avatar": None}),
        ("github", {"name": "Rhea"}, {"name": "Rhea"}),
        ("discord", {"verified": False}, {"email": None}),
        ("discord", {"email": None}, {"email": None}),
        ("discord", {"global_name": None}, {"name": "rquill"}),
        ("discord", {"avatar": None}, {"avatar": "https://cdn.discordapp.com/embed/avatars/4.png"}),
        ("discord", {"avatar": "../../x"}, {"avatar": "https://cdn.discordapp.com/embed/avatars/4.png"}),
        (
            "discord",
            {"avatar": "33ecab"},
            {"avatar": "https://cdn.discordapp.com/avatars/184405311681986560/33ecab.png"},
        ),
        ("amazon", {"email": None, "name": None}, {"email": None, "name": None, "avatar": None}),
        ("x", {"data": {"id": "1844053116819", "username": "rquill"}}, {"name": "rquill", "email": None}),
        ("x", {"errors": [{"title": "Field Authorization Error"}]}, {"name": "Rhea Quill"}),
        ("tiktok", {"data": {"user": {"open_id": PEOPLE["tiktok"].sub}}}, {"name": None, "avatar": None}),
    ],
)
async def test_missing_and_unverified_members_of_a_profile_are_left_out(
    social: str,
    changes: Mapping[str, object],
    expected: Mapping[str, object],
    make_world: MakeWorld,
    log_in: LogIn,
) -> None:
    world = make_world(social)
    profile = world["profile"].return_value
    assert profile is not None
    world["profile"].return_value = httpx.Response(200, json=profile.json() | changes)

    person = await log_in(social)

    assert {name: getattr(person, name) for name in expected} == expected
    assert person.sub == PEOPLE[social].sub


@pytest.mark.parametrize(
    "emails",
    [
        httpx.Response(200, json=[{"email": "a@example.com", "primary": True, "verified": False}]),
        httpx.Response(200, json=[{"email": "a@example.com", "primary": False, "verified": True}]),
        httpx.Response(200, json=[]),
        httpx.Response(404, json={"message": "Not Found"}),
        httpx.Response(403, json={"message": "Resource not accessible by integration"}),
    ],
)
async def test_github_without_a_primary_verified_address_gives_no_email(
    emails: httpx.Response, make_world: MakeWorld, log_in: LogIn
) -> None:
    make_world("github")["emails"].return_value = emails

    assert (await log_in("github")).email is None


async def test_the_signing_keys_are_fetched_again_after_an_hour(
    make_world: MakeWorld,
    make_id_token: Callable[..., str],
    make_back_channel: MakeBackChannel,
    application: Application,
    grant: Grant,
) -> None:
    now = float(NOW)
    world = make_world("google")
    back_channel = make_back_channel(now=lambda: now)
    await back_channel.person(load("google"), application, grant)

    now += 3600
    fresh = make_id_token("https://accounts.google.com", PEOPLE["google"].sub, iat=now, exp=now + 60)
    world["token"].return_value = httpx.Response(
        200, json={"access_token": "a", "token_type": "Bearer", "id_token": fresh}
    )
    await back_channel.person(load("google"), application, grant)

    assert world["keys"].call_count == 2


async def test_a_relocated_provider_is_asked_under_the_servers_address(
    make_back_channel: MakeBackChannel, application: Application, grant: Grant
) -> None:
    settings = Settings(
        socials={"discord": SocialAddress(browser_url="https://b.example/discord", server_url="http://s:1/discord")}
    )
    with respx.mock(base_url="http://s:1/discord") as world:
        world.post("/api/oauth2/token").respond(json={"access_token": "a", "token_type": "Bearer"})
        world.get("/api/users/@me").respond(json={"id": "7", "username": "rquill"})

        person = await make_back_channel().person(find("discord", settings), application, grant)

    assert (person.sub, person.name) == ("7", "rquill")
