"""Reads a person's data with OpenID Connect. The id is in the id_token; name, e-mail and picture are in userinfo."""

from collections.abc import Awaitable, Callable

from chatkey_server.social.person import Person, Unusable, avatar, display_name, email, subject
from chatkey_server.social.provider import Login


def reader(userinfo_url: str) -> Callable[[Login], Awaitable[Person]]:
    """Return a function that reads a person's data, with userinfo at this address."""

    async def read_person(login: Login) -> Person:
        sub = subject((await login.id_token_claims()).sub)
        userinfo = await login.get(userinfo_url)
        if subject(userinfo.get("sub")) != sub:
            raise Unusable("userinfo is about another subject than the id_token")
        return Person(
            sub=sub,
            name=display_name(userinfo.get("name"), userinfo.get("preferred_username")),
            email=email(userinfo.get("email")) if userinfo.get("email_verified") is True else None,
            avatar=avatar(userinfo.get("picture")),
        )

    return read_person
