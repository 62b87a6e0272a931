"""Facebook: plain OAuth 2. The profile contains the requested `fields`. An e-mail is optional and never verified."""

from collections.abc import Mapping
from typing import Final

from chatkey_server.social.person import Person, avatar, display_name, email, subject
from chatkey_server.social.provider import Login, SocialProvider

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


def _picture_url(picture: object) -> object:
    data = picture.get("data") if isinstance(picture, Mapping) else None
    return data.get("url") if isinstance(data, Mapping) else None


PROVIDER: Final = SocialProvider(
    name="facebook",
    authorize_url="https://www.facebook.com/v24.0/dialog/oauth",
    tokens_url="https://graph.facebook.com/v24.0/oauth/access_token",
    scope="email,public_profile",
    client_auth="client_secret_post",
    read_person=read_person,
)
