"""Reading a person from OpenID Connect: the id_token says who it is, userinfo how they are called."""

from collections.abc import Awaitable, Callable

from chatkey_server.social.person import Person, Unusable, avatar, display_name, email, subject
from chatkey_server.social.provider import Session


def reader(userinfo_url: str) -> Callable[[Session], Awaitable[Person]]:
    """Return a function that reads the person of a session whose provider has its userinfo at this address."""

    async def read_person(session: Session) -> Person:
        sub = subject((await session.id_token_claims()).sub)
        userinfo = await session.get(userinfo_url)
        if subject(userinfo.get("sub")) != sub:
            raise Unusable("userinfo speaks of another subject than the id_token")
        return Person(
            sub=sub,
            name=display_name(userinfo.get("name"), userinfo.get("preferred_username")),
            email=email(userinfo.get("email")) if userinfo.get("email_verified") is True else None,
            avatar=avatar(userinfo.get("picture")),
        )

    return read_person
