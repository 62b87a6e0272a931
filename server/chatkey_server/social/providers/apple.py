"""Apple: OpenID Connect without userinfo. The client secret is a JWT that we sign. Apple sends the name only once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.social.person import Person, display_name, email, subject
from chatkey_server.social.provider import Login, SocialProvider

if TYPE_CHECKING:
    from chatkey_server.storage.providers import Application

ISSUER: Final = "https://appleid.apple.com"
SECRET_SECONDS: Final = 300
"""The lifetime of a client secret. Apple allows six months, but a login needs only a moment."""


class Name(msgspec.Struct, frozen=True, rename="camel"):
    """The person's name from Apple. The person can edit the name before sharing it."""

    first_name: str | None = None
    last_name: str | None = None


class User(msgspec.Struct, frozen=True):
    """The callback's `user` parameter, which is not signed. The name is only displayed, and the e-mail is not read."""

    name: Name = Name()


async def read_person(login: Login) -> Person:
    """Read the person's data from the id_token. Apple sends the name in the callback of the very first login only."""
    claims = await login.id_token_claims()
    verified = claims.email_verified is True or claims.email_verified == "true"
    return Person(
        sub=subject(claims.sub),
        name=_name(login.callback.get("user")),
        email=email(claims.email) if verified else None,
    )


def client_secret(application: Application, now: float) -> str:
    """Sign a client secret (ES256) for this login. Raises `Refused(social_disabled)` if the keys are missing."""
    from joserfc import jwt  # noqa: PLC0415 - waits for the first login, like all of joserfc
    from joserfc.jwk import ECKey  # noqa: PLC0415

    if not (application.team_id and application.key_id and application.p8):
        raise Refused(Code.SOCIAL_DISABLED, "The keys of this chat's Apple sign-in are incomplete.", member="social")
    return jwt.encode(
        {"alg": "ES256", "kid": application.key_id},
        {
            "iss": application.team_id,
            "sub": application.client_id,
            "aud": ISSUER,
            "iat": int(now),
            "exp": int(now) + SECRET_SECONDS,
        },
        ECKey.import_key(application.p8),
    )


def _name(user: str | None) -> str | None:
    if user is None:
        return None
    try:
        name = msgspec.json.decode(user, type=User).name
    except (msgspec.DecodeError, RecursionError):
        return None
    return display_name(" ".join(filter(None, (name.first_name, name.last_name))))


PROVIDER: Final = SocialProvider(
    name="apple",
    authorize_url=f"{ISSUER}/auth/authorize",
    tokens_url=f"{ISSUER}/auth/token",
    scope="name email",
    client_auth="client_secret_post",
    issuers=(ISSUER,),
    keys_url=f"{ISSUER}/auth/keys",
    pkce=False,
    client_secret=client_secret,
    authorize_extras={"response_mode": "form_post"},
    callback_extras=("user",),
    read_person=read_person,
)
