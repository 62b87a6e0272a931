"""Discord: plain OAuth 2. Ids are snowflakes. The URL of an avatar is built from a hash."""

import re
from typing import Final

from chatkey_server.social.person import Person, display_name, email, numeric_subject
from chatkey_server.social.provider import Login, SocialProvider

USER_URL = "https://discord.com/api/users/@me"
CDN = "https://cdn.discordapp.com"
DEFAULT_AVATARS = 6

_HASH = re.compile(r"(?:a_)?[0-9a-f]{1,64}")


async def read_person(login: Login) -> Person:
    """Read the person from the current user. The e-mail is used only if Discord has verified it."""
    user = await login.get(USER_URL)
    sub = numeric_subject(user.get("id"))
    return Person(
        sub=sub,
        name=display_name(user.get("global_name"), user.get("username")),
        email=email(user.get("email")) if user.get("verified") is True else None,
        avatar=_avatar_url(sub, user.get("avatar")),
    )


def _avatar_url(sub: str, avatar: object) -> str | None:
    if isinstance(avatar, str) and _HASH.fullmatch(avatar):
        return f"{CDN}/avatars/{sub}/{avatar}.{'gif' if avatar.startswith('a_') else 'png'}"
    if not sub.isdigit():
        return None
    return f"{CDN}/embed/avatars/{(int(sub) >> 22) % DEFAULT_AVATARS}.png"


PROVIDER: Final = SocialProvider(
    name="discord",
    authorize_url="https://discord.com/oauth2/authorize",
    tokens_url="https://discord.com/api/oauth2/token",
    scope="identify email",
    choose_account={"prompt": "consent"},
    client_auth="client_secret_post",
    read_person=read_person,
)
