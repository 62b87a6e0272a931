"""GitHub: plain OAuth 2. Ids are numbers. The primary, verified e-mail is selected from a list."""

from typing import Final

from chatkey_server.social.person import Person, avatar, display_name, email, numeric_subject
from chatkey_server.social.provider import Json, Login, SocialProvider

USER_URL = "https://api.github.com/user"
EMAILS_URL = "https://api.github.com/user/emails"


async def read_person(login: Login) -> Person:
    """Read the person's data from the user and e-mail endpoints. The e-mail is None if the person does not share it."""
    user = await login.get(USER_URL)
    return Person(
        sub=numeric_subject(user.get("id")),
        name=display_name(user.get("name"), user.get("login")),
        email=_primary(await login.get_list(EMAILS_URL) or []),
        avatar=avatar(user.get("avatar_url")),
    )


def _primary(rows: list[Json]) -> str | None:
    chosen = (row.get("email") for row in rows if row.get("primary") is True and row.get("verified") is True)
    return email(next(chosen, None))


PROVIDER: Final = SocialProvider(
    name="github",
    authorize_url="https://github.com/login/oauth/authorize",
    tokens_url="https://github.com/login/oauth/access_token",
    scope="read:user user:email",
    choose_account={"prompt": "select_account"},
    client_auth="client_secret_post",
    issuers=("https://github.com/login/oauth",),
    read_person=read_person,
)
