"""Amazon: plain OAuth 2. Amazon sends no picture, and does not say whether an e-mail address is verified."""

from typing import Final

from chatkey_server.social.person import Person, display_name, email, subject
from chatkey_server.social.provider import Login, SocialProvider

PROFILE_URL = "https://api.amazon.com/user/profile"


async def read_person(login: Login) -> Person:
    """Read the person from the customer profile."""
    profile = await login.get(PROFILE_URL)
    return Person(
        sub=subject(profile.get("user_id")),
        name=display_name(profile.get("name")),
        email=email(profile.get("email")),
    )


PROVIDER: Final = SocialProvider(
    name="amazon",
    authorize_url="https://www.amazon.com/ap/oa",
    tokens_url="https://api.amazon.com/auth/o2/token",
    scope="profile",
    client_auth="client_secret_post",
    read_person=read_person,
)
