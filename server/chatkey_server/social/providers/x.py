"""X: plain OAuth 2 with PKCE and Basic authentication. X sends an e-mail address if the application may request it."""

from collections.abc import Mapping
from typing import Final

from chatkey_server.social.person import Person, Unusable, avatar, display_name, email, subject
from chatkey_server.social.provider import Login, SocialProvider

USER_URL = "https://api.x.com/2/users/me"


async def read_person(login: Login) -> Person:
    """Read the person from the current user. X sends only confirmed e-mail addresses."""
    answer = await login.get(USER_URL, **{"user.fields": "profile_image_url,confirmed_email"})
    user = answer.get("data")
    if not isinstance(user, Mapping):
        raise Unusable("the response contains no user")
    return Person(
        sub=subject(user.get("id")),
        name=display_name(user.get("name"), user.get("username")),
        email=email(user.get("confirmed_email")),
        avatar=avatar(user.get("profile_image_url")),
    )


PROVIDER: Final = SocialProvider(
    name="x",
    authorize_url="https://x.com/i/oauth2/authorize",
    tokens_url="https://api.x.com/2/oauth2/token",
    scope="users.read tweet.read users.email",
    client_auth="client_secret_basic",
    read_person=read_person,
)
