"""Fixtures: respx mocks of the social providers, with each endpoint's response to a correct request."""

from __future__ import annotations

import re
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest
import respx
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey

from chatkey_server.social import transport
from chatkey_server.social.flow import BackChannel
from chatkey_server.social.grant import Grant
from chatkey_server.social.person import Person
from chatkey_server.social.provider import SocialProvider
from chatkey_server.social.providers import load
from chatkey_server.storage.providers import Application

NOW = 1_795_000_000
ID_TOKEN = "(an id_token)"

ANSWERS: dict[str, dict[str, tuple[str, Any]]] = {
    "google": {
        "token": (
            "https://oauth2.googleapis.com/token",
            {"access_token": "ya29.a0", "expires_in": 3599, "token_type": "Bearer", "id_token": ID_TOKEN},
        ),
        "keys": ("https://www.googleapis.com/oauth2/v3/certs", {}),
        "profile": (
            "https://openidconnect.googleapis.com/v1/userinfo",
            {
                "sub": "107691503500061507151",
                "name": "Rhea Quill",
                "picture": "https://lh3.example/a/x=s96-c",
                "email": "rhea@example.com",
                "email_verified": True,
            },
        ),
    },
    "facebook": {
        "token": (
            "https://graph.facebook.com/v24.0/oauth/access_token",
            {"access_token": "EAAGx", "token_type": "bearer", "expires_in": 5183944},
        ),
        "profile": (
            "https://graph.facebook.com/v24.0/me",
            {
                "id": "10223344556677889",
                "name": "Rhea Quill",
                "email": "rhea@example.com",
                "picture": {"data": {"height": 50, "is_silhouette": False, "url": "https://look.example/pic?asid=1"}},
            },
        ),
    },
    "github": {
        "token": (
            "https://github.com/login/oauth/access_token",
            {"access_token": "gho_A1", "token_type": "bearer", "scope": "read:user,user:email"},
        ),
        "profile": (
            "https://api.github.com/user",
            {
                "login": "rquill",
                "id": 5830217,
                "name": None,
                "email": "public@example.com",
                "avatar_url": "https://avatars.example/u/5830217?v=4",
            },
        ),
        "emails": (
            "https://api.github.com/user/emails",
            [
                {"email": "old@example.com", "primary": False, "verified": True},
                {"email": "rhea@example.com", "primary": True, "verified": True},
            ],
        ),
    },
    "gitlab": {
        "token": (
            "https://gitlab.com/oauth/token",
            {"access_token": "9f2c", "token_type": "Bearer", "expires_in": 7200, "id_token": ID_TOKEN},
        ),
        "keys": ("https://gitlab.com/oauth/discovery/keys", {}),
        "profile": (
            "https://gitlab.com/oauth/userinfo",
            {
                "sub": "48213",
                "name": "Rhea Quill",
                "nickname": "rquill",
                "email": "rhea@example.com",
                "email_verified": True,
                "picture": "https://gitlab.example/avatar.png",
            },
        ),
    },
    "discord": {
        "token": (
            "https://discord.com/api/oauth2/token",
            {"token_type": "Bearer", "access_token": "6qrZ", "expires_in": 604800, "scope": "identify email"},
        ),
        "profile": (
            "https://discord.com/api/users/@me",
            {
                "id": "184405311681986560",
                "username": "rquill",
                "global_name": "Rhea Quill",
                "avatar": "a_33ecab261d4681afa4d85a04691c4a01",
                "email": "rhea@example.com",
                "verified": True,
            },
        ),
    },
    "apple": {
        "token": (
            "https://appleid.apple.com/auth/token",
            {"access_token": "a1f0.0.rsy.F", "token_type": "Bearer", "expires_in": 3600, "id_token": ID_TOKEN},
        ),
        "keys": ("https://appleid.apple.com/auth/keys", {}),
    },
    "x": {
        "token": (
            "https://api.x.com/2/oauth2/token",
            {"token_type": "bearer", "expires_in": 7200, "access_token": "ZmFr", "scope": "tweet.read users.read"},
        ),
        "profile": (
            "https://api.x.com/2/users/me",
            {
                "data": {
                    "id": "1844053116819",
                    "name": "Rhea Quill",
                    "username": "rquill",
                    "profile_image_url": "https://pbs.example/abc_normal.jpg",
                    "confirmed_email": "rhea@example.com",
                }
            },
        ),
    },
    "tiktok": {
        "token": (
            "https://open.tiktokapis.com/v2/oauth/token/",
            {"access_token": "act.fAkE!4321.va", "expires_in": 7200, "open_id": "723f24d7", "token_type": "Bearer"},
        ),
        "profile": (
            "https://open.tiktokapis.com/v2/user/info/",
            {
                "data": {
                    "user": {
                        "open_id": "723f24d7-e717-40f8-a2b6-cb8464cd23b4",
                        "display_name": "Rhea Quill",
                        "avatar_url": "https://p16.example/aweme/fake.jpeg",
                    }
                },
                "error": {"code": "ok", "message": "", "log_id": "2026112009"},
            },
        ),
    },
    "amazon": {
        "token": (
            "https://api.amazon.com/auth/o2/token",
            {"access_token": "Atza|IwEB", "refresh_token": "Atzr|Iw", "token_type": "bearer", "expires_in": 3600},
        ),
        "profile": (
            "https://api.amazon.com/user/profile",
            {"user_id": "amzn1.account.AGFAKE", "name": "Rhea Quill", "email": "rhea@example.com"},
        ),
    },
}

SIGNED = {
    "google": ("https://accounts.google.com", "107691503500061507151", {}),
    "gitlab": ("https://gitlab.com", "48213", {}),
    "apple": (
        "https://appleid.apple.com",
        "000517.8d2f.0730",
        {"email": "k7xq@privaterelay.appleid.com", "email_verified": "true", "is_private_email": "true"},
    ),
}
"""For each provider that signs an id_token: the issuer, the subject and additional claims."""


def any_answers(provider: SocialProvider) -> dict[str, tuple[Any, Any]]:
    """Return made-up responses of a provider. They suffice for tests of all failures except those of a profile."""
    token = {"access_token": "a", "token_type": "Bearer"}
    anything: dict[str, tuple[Any, Any]] = {"profile": (re.compile("https://"), {})}
    if provider.keys_url is None:
        return {"token": (provider.tokens_url, token)} | anything
    return {"token": (provider.tokens_url, token | {"id_token": ID_TOKEN}), "keys": (provider.keys_url, {})} | anything


MakeIdToken = Callable[..., str]
MakeBackChannel = Callable[..., BackChannel]
MakeWorld = Callable[[str], respx.MockRouter]
LogIn = Callable[[str], Awaitable[Person]]


@pytest.fixture(scope="session")
def signing_key() -> RSAKey:
    """The key with which the OpenID providers sign id_tokens."""
    return RSAKey.generate_key(2048, {"kid": "key-1", "use": "sig", "alg": "RS256"})


@pytest.fixture
def key_set(signing_key: RSAKey) -> Mapping[str, object]:
    return KeySet([signing_key]).as_dict(private=False)


@pytest.fixture(scope="session")
def p8() -> str:
    """A private key for signing client secrets, in the format in which Apple issues it."""
    return ECKey.generate_key("P-256").as_pem(private=True).decode()


@pytest.fixture
def application(p8: str) -> Application:
    """An OAuth application for every provider. For Apple, the application has a key instead of a secret."""
    return Application("client-1", "application-secret", team_id="TEAM123456", key_id="KEY1234567", p8=p8)


@pytest.fixture
def grant() -> Grant:
    """The values that the login start endpoint and the callback save for requests to the provider."""
    return Grant(
        redirect_uri="https://chat.example/v1/public/oauth/any/callback",
        code="4/0Acode*!",
        verifier="verifier-" + "v" * 55,
        oidc_nonce="nonce-of-this-login",
    )


@pytest.fixture
def make_id_token(signing_key: RSAKey, application: Application, grant: Grant) -> MakeIdToken:
    """Sign an id_token. Arguments replace the key and single claims; None removes a claim."""

    def make(issuer: str, sub: str, *, key: RSAKey = signing_key, kid: str = "key-1", **changes: object) -> str:
        claims: dict[str, object] = {
            "iss": issuer,
            "aud": application.client_id,
            "sub": sub,
            "iat": NOW - 1,
            "exp": NOW + 119,
            "nonce": grant.oidc_nonce,
        }
        claims = {name: value for name, value in (claims | changes).items() if value is not None}
        return jwt.encode({"alg": "RS256", "kid": kid}, claims, key)

    return make


@pytest.fixture(scope="session")
def trusted() -> ssl.SSLContext:
    """The usual certificate authorities. They are loaded only once, because this takes a while."""
    return transport.trust("")


@pytest.fixture
def make_back_channel(trusted: ssl.SSLContext) -> MakeBackChannel:
    """Make a back channel. respx answers the requests of the back channel."""

    return lambda now=lambda: NOW: BackChannel(now, trusted=trusted)


@pytest.fixture
def back_channel(make_back_channel: MakeBackChannel) -> BackChannel:
    return make_back_channel()


@pytest.fixture
def log_in(back_channel: BackChannel, application: Application, grant: Grant) -> LogIn:
    """Log in with `application` and `grant` at the named provider."""
    return lambda social: back_channel.person(load(social), application, grant)


@pytest.fixture
def make_world(make_id_token: MakeIdToken, key_set: Mapping[str, object]) -> Iterator[MakeWorld]:
    """Mock one provider's endpoints. The routes are named `token`, `keys`, `profile` and `emails`."""
    with respx.mock(assert_all_called=False) as router:

        def make(social: str) -> respx.MockRouter:
            for name, (url, answer) in (ANSWERS.get(social) or any_answers(load(social))).items():
                body = answer
                if name == "keys":
                    body = key_set
                elif name == "token" and "id_token" in answer:
                    issuer, sub, claims = SIGNED.get(social) or (load(social).issuers[0], "1234", {})
                    body = answer | {"id_token": make_id_token(issuer, sub, **claims)}
                router.request("POST" if name == "token" else "GET", url, name=name).mock(
                    return_value=httpx.Response(200, json=body)
                )
            return router

        yield make
