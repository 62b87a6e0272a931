"""TikTok: OAuth 2 with different parameter names. Responses have an envelope with an `error`; there is no e-mail."""

from collections.abc import Mapping
from typing import Final

from chatkey_server.social.person import Person, Unusable, avatar, display_name, subject
from chatkey_server.social.provider import Json, Login, SocialProvider, error_code

USER_URL = "https://open.tiktokapis.com/v2/user/info/"


async def read_person(login: Login) -> Person:
    """Read the person from the user info. The subject differs between applications."""
    user = _user(await login.get(USER_URL, fields="open_id,avatar_url,display_name"))
    return Person(
        sub=subject(user.get("open_id")),
        name=display_name(user.get("display_name")),
        avatar=avatar(user.get("avatar_url")),
    )


def _user(answer: Json) -> Json:
    error, data = answer.get("error"), answer.get("data")
    word = error.get("code") if isinstance(error, Mapping) else None
    if word != "ok":
        raise Unusable(f"the error code of the response is {error_code(word)}")
    user = data.get("user") if isinstance(data, Mapping) else None
    if not isinstance(user, Mapping):
        raise Unusable("the response contains no user")
    return user


PROVIDER: Final = SocialProvider(
    name="tiktok",
    authorize_url="https://www.tiktok.com/v2/auth/authorize/",
    tokens_url="https://open.tiktokapis.com/v2/oauth/token/",
    scope="user.info.basic",
    choose_account={"disable_auto_auth": "1"},
    client_auth="client_secret_post",
    client_id_parameter="client_key",
    pkce=False,
    read_person=read_person,
)
