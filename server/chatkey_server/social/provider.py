"""Describes a social provider: its addresses, its deviations from the standard, and how a person's data is read."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol
from urllib.parse import urlsplit

from chatkey_protocol.names import SOCIALS
from chatkey_server.settings import SocialAddress

if TYPE_CHECKING:
    from chatkey_server.social.id_token_claims import Claims
    from chatkey_server.social.person import Person
    from chatkey_server.storage.providers import Application

Json = Mapping[str, object]

REAL: Final = SocialAddress()
"""The default for a social provider that the settings do not mention: its own hosts."""

_ERROR_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Login(Protocol):
    """A login after the code exchange, with methods for the modules that read a person's data.

    Addresses are those of the real provider. Every failure raises `Refused(oauth_failed)`.
    """

    @property
    def callback(self) -> Mapping[str, str]:
        """The provider's `callback_extras` that came with the code.

        They are not signed, so the browser can change them.
        """
        ...

    async def get(self, url: str, **query: str) -> Json:
        """Return the JSON object at an address of the provider. The request carries the access token."""
        ...

    async def get_list(self, url: str) -> list[Json] | None:
        """Return the JSON objects in a list, or None if the access token may not read the list (403, 404)."""
        ...

    async def id_token_claims(self) -> Claims:
        """Return the claims of the verified id_token (OpenID Connect Core 3.1.3.7)."""
        ...


def stored_secret(application: Application, now: float) -> str:  # noqa: ARG001 - one shape for all
    """Return the client secret that is stored with the application's keys."""
    return application.client_secret or ""


def no_proof(application: Application, access_token: str) -> Mapping[str, str]:  # noqa: ARG001 - one shape for all
    """Return no parameters: the access token is enough."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SocialProvider:
    """One social provider.

    If `keys_url` is set, the provider signs an id_token, and authorization requests contain a nonce. All addresses are
    the provider's real ones; `address`, if set, replaces the hosts. `issuers` are the accepted values of `iss` in the
    id_token and in the callback (RFC 9207). `issuers` is empty if the provider has no issuer. `pkce` says whether the
    provider supports an S256 challenge. `client_id_parameter` is the provider's name for `client_id`. `client_secret`
    makes the secret for one login from the application's keys and the time. `request_proof` returns the parameters with
    which every request proves that the holder of the access token also has the secret. `authorize_extras` are added to
    the authorization request, and `choose_account` too if somebody else may want to sign in. `callback_extras` are the
    parameters of the callback that `read_person` may read.
    """

    name: str
    authorize_url: str
    tokens_url: str
    scope: str
    client_auth: Literal["client_secret_post", "client_secret_basic"]
    read_person: Callable[[Login], Awaitable[Person]]
    issuers: tuple[str, ...] = ()
    keys_url: str | None = None
    pkce: bool = True
    client_id_parameter: str = "client_id"
    client_secret: Callable[[Application, float], str] = stored_secret
    request_proof: Callable[[Application, str], Mapping[str, str]] = no_proof
    choose_account: Mapping[str, str] = field(default_factory=dict)
    authorize_extras: Mapping[str, str] = field(default_factory=dict)
    callback_extras: tuple[str, ...] = ()
    address: SocialAddress = REAL

    @property
    def title(self) -> str:
        """The provider's name as the provider itself writes it."""
        return SOCIALS[self.name].title

    @property
    def accepted_issuers(self) -> tuple[str, ...]:
        """The accepted issuers at the configured address. Empty if the provider has no issuer."""
        if not self.issuers or self.address == REAL:
            return self.issuers
        here = self.address.issuer or self.for_browser(self.issuers[0])
        return tuple(here if "://" in issuer else here.partition("://")[2] for issuer in self.issuers)

    def for_browser(self, url: str) -> str:
        """Convert an address of the real provider into the address that a browser must use."""
        return _fold(url, self.address.browser_url or self.address.server_url)

    def for_server(self, url: str) -> str:
        """Convert an address of the real provider into the address that this server must use."""
        return _fold(url, self.address.server_url or self.address.browser_url)


def error_code(error: object) -> str:
    """Return the code of an OAuth error (RFC 6749 5.2) or of Facebook's error object. Free text is never returned."""
    if isinstance(error, Mapping):
        error = f"{error.get('type')}.{error.get('code')}"
    return error if isinstance(error, str) and _ERROR_CODE.fullmatch(error) else "unknown error"


def _fold(url: str, base: str | None) -> str:
    return base.rstrip("/") + urlsplit(url).path if base else url
