"""Tests of what only Apple does: signed client secrets, a name that is sent once, and booleans as text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs

import httpx
import pytest
import respx
from joserfc import jwt
from joserfc.jwk import ECKey

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.social.flow import BackChannel
from chatkey_server.social.grant import Grant
from chatkey_server.social.person import Person
from chatkey_server.social.providers.apple import PROVIDER as APPLE
from chatkey_server.storage.providers import Application

NOW = 1_795_000_000
ISSUER = "https://appleid.apple.com"
FULL = '{"name": {"firstName": "Rhea", "lastName": "Quill"}, "email": "forged@example.com"}'

MakeIdToken = Callable[..., str]
MakeWorld = Callable[[str], respx.MockRouter]
MakeGrant = Callable[[str | None], Grant]
LogIn = Callable[[str | None], Awaitable[Person]]


@pytest.fixture
def log_in(back_channel: BackChannel, application: Application, grant: Grant) -> LogIn:
    """Log in at Apple. The callback contains this `user`."""

    def log_in_with(user: str | None) -> Awaitable[Person]:
        brought = Grant(
            redirect_uri=grant.redirect_uri,
            code=grant.code,
            verifier=grant.verifier,
            oidc_nonce=grant.oidc_nonce,
            extras={} if user is None else {"user": user},
        )
        return back_channel.person(APPLE, application, brought)

    return log_in_with


async def test_the_client_secret_is_a_fresh_jwt_signed_with_the_p8(
    make_world: MakeWorld, log_in: LogIn, p8: str
) -> None:
    """The requirements are from Apple's page "Creating a client secret"."""
    world = make_world("apple")

    await log_in(None)

    form = {name: value for name, (value,) in parse_qs(world["token"].calls.last.request.content.decode()).items()}
    secret = jwt.decode(form["client_secret"], ECKey.import_key(p8), algorithms=["ES256"])
    assert secret.header == {"typ": "JWT", "alg": "ES256", "kid": "KEY1234567"}
    assert secret.claims == {
        "iss": "TEAM123456",
        "sub": "client-1",
        "aud": ISSUER,
        "iat": NOW,
        "exp": NOW + 300,
    }
    assert form["client_id"] == "client-1"


@pytest.mark.parametrize("missing", ["team_id", "key_id", "p8"])
def test_keys_that_are_not_complete_are_refused(application: Application, missing: str) -> None:
    keys = {name: getattr(application, name) for name in ("team_id", "key_id", "p8") if name != missing}

    with pytest.raises(Refused) as refusal:
        APPLE.client_secret(Application("client-1", **keys), NOW)

    assert (refusal.value.code, refusal.value.member) == (Code.SOCIAL_DISABLED, "social")


@pytest.mark.parametrize(
    ("user", "name"),
    [
        (None, None),
        (FULL, "Rhea Quill"),
        ('{"name": {"firstName": "Rhea"}}', "Rhea"),
        ('{"name": {"firstName": null, "lastName": "Quill"}}', "Quill"),
        ('{"name": {"firstName": " نور ", "lastName": "😀\\n"}}', "نور  😀"),
        ('{"name": {"firstName": "", "lastName": " "}}', None),
        ('{"email": "rhea@example.com"}', None),
        ('{"name": "Rhea"}', None),
        ('{"name": {"firstName": 7}}', None),
        ("{", None),
        ("[]", None),
        ("", None),
        ('{"x": ' + "[" * 5000, None),
    ],
)
async def test_the_name_only_comes_from_the_callback(
    user: str | None, name: str | None, make_world: MakeWorld, log_in: LogIn
) -> None:
    make_world("apple")

    person = await log_in(user)

    assert (person.sub, person.name) == ("000517.8d2f.0730", name)


async def test_the_email_in_the_callback_is_ignored(make_world: MakeWorld, log_in: LogIn) -> None:
    make_world("apple")

    assert (await log_in(FULL)).email == "k7xq@privaterelay.appleid.com"


@pytest.mark.parametrize(
    ("claims", "email"),
    [
        ({"email": "rhea@example.com", "email_verified": True}, "rhea@example.com"),
        ({"email": "rhea@example.com", "email_verified": "true"}, "rhea@example.com"),
        ({"email": "rhea@example.com", "email_verified": "false"}, None),
        ({"email": "rhea@example.com", "email_verified": False}, None),
        ({"email": "rhea@example.com", "email_verified": 1}, None),
        ({"email": "rhea@example.com"}, None),
        ({"email": ["rhea@example.com"], "email_verified": True}, None),
        ({"email_verified": "true"}, None),
        ({}, None),
    ],
)
async def test_an_email_counts_when_apple_says_so_in_either_spelling(
    claims: Mapping[str, object], email: str | None, make_world: MakeWorld, make_id_token: MakeIdToken, log_in: LogIn
) -> None:
    token = make_id_token(ISSUER, "000517.8d2f.0730", **claims)
    make_world("apple")["token"].return_value = httpx.Response(
        200, json={"access_token": "a", "token_type": "Bearer", "id_token": token}
    )

    assert (await log_in(None)).email == email


async def test_only_token_and_keys_are_requested(make_world: MakeWorld, log_in: LogIn) -> None:
    world = make_world("apple")

    await log_in(None)

    assert [str(call.request.url) for call in world.calls] == [f"{ISSUER}/auth/token", f"{ISSUER}/auth/keys"]
