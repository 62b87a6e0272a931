"""Facebook: plain OAuth 2. The profile contains the requested `fields`. An e-mail is optional and never verified."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from chatkey_server.social.person import Person, avatar, display_name, email, subject
from chatkey_server.social.provider import Login, SocialProvider

if TYPE_CHECKING:
    from chatkey_server.storage.providers import Application

PROFILE_URL = "https://graph.facebook.com/v24.0/me"


async def read_person(login: Login) -> Person:
    """Read the person from the Graph API."""
    profile = await login.get(PROFILE_URL, fields="id,name,email,picture")
    return Person(
        sub=subject(profile.get("id")),
        name=display_name(profile.get("name")),
        email=email(profile.get("email")),
        avatar=avatar(_picture_url(profile.get("picture"))),
    )


def appsecret_proof(application: Application, access_token: str) -> Mapping[str, str]:
    """Return the proof that Facebook demands of applications with "Require app secret"."""
    secret = (application.client_secret or "").encode()
    return {"appsecret_proof": hmac.new(secret, access_token.encode(), "sha256").hexdigest()}


def _picture_url(picture: object) -> object:
    data = picture.get("data") if isinstance(picture, Mapping) else None
    return data.get("url") if isinstance(data, Mapping) else None


PROVIDER: Final = SocialProvider(
    name="facebook",
    authorize_url="https://www.facebook.com/v24.0/dialog/oauth",
    tokens_url="https://graph.facebook.com/v24.0/oauth/access_token",
    scope="email,public_profile",
    choose_account={"auth_type": "reauthenticate"},
    client_auth="client_secret_post",
    request_proof=appsecret_proof,
    read_person=read_person,
)
