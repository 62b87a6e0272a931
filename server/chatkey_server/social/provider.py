"""What a social provider is to this server: its addresses, its manners, and how to read a person from it."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from chatkey_server.social.person import Person

Json = Mapping[str, object]

_ERROR_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Session(Protocol):
    """One login whose code has been exchanged: what a provider's module may ask for to read the person.

    Addresses are those of the real provider. Every failure raises `Refused(oauth_failed)`.
    """

    async def get(self, url: str, **query: str) -> Json:
        """Return the JSON object at an address of the provider, asked for with the access token."""
        ...

    async def get_list(self, url: str) -> list[Json] | None:
        """Return the JSON objects in a list, or None where the provider says the token may not see it (403, 404)."""
        ...

    async def id_token_subject(self) -> str:
        """Return `sub` of the verified id_token (OpenID Connect Core 3.1.3.7)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SocialProvider:
    """One social provider, at its real addresses. With `keys_url` it signs an id_token, and is sent a nonce.

    `issuers` are the spellings under which it signs and which its callback's `iss` may have (RFC 9207); empty where
    it has none.
    """

    name: str
    title: str
    authorize_url: str
    tokens_url: str
    scope: str
    client_auth: Literal["client_secret_post", "client_secret_basic"]
    read_person: Callable[[Session], Awaitable[Person]]
    issuers: tuple[str, ...] = ()
    keys_url: str | None = None


def error_code(error: object) -> str:
    """Return the code of an OAuth error (RFC 6749 5.2), or of Facebook's error object; never a provider's free text."""
    if isinstance(error, Mapping):
        error = f"{error.get('type')}.{error.get('code')}"
    return error if isinstance(error, str) and _ERROR_CODE.fullmatch(error) else "unknown error"
