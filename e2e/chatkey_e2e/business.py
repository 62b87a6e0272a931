"""A business for one test: an isolated provider of the service, and a shop that embeds its widget."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jwt

from chatkey_e2e import needs
from chatkey_protocol.names import MEMBER_TOKEN_PATH, OAUTH_START_PATH, SOCKET_PATH, VISITOR_TOKEN_PATH
from chatkey_protocol.storage_keys import MEMBER_TOKEN_PREFIX
from chatkey_stack.applications import Application, new_application
from chatkey_stack.lab import Provider, SocialKeys
from chatkey_stack.site.pages import snippet
from chatkey_stack.stack import Stack


@dataclass(frozen=True, slots=True)
class Business:
    """One integrator: a provider, a shop, and the integrator's own keys at the social providers."""

    stack: Stack
    provider: Provider
    slug: str
    own_keys: dict[str, Application] = field(default_factory=dict[str, Application])
    tail: str = ""
    """Suffix of the ids of the shop's people. Distinguishes them from people of earlier shops at the same provider."""

    @property
    def url(self) -> str:
        """The address of the shop's page."""
        return f"{self.origin}/{self.slug}/"

    @property
    def origin(self) -> str:
        """The origin of the shop's page."""
        return self.provider.origin or self.stack.site.browser_url

    @property
    def ada(self) -> str:
        """The uid of the shop's first customer."""
        return f"u-1001{self.tail}"

    @property
    def socket_uri(self) -> str:
        """The address of the service's socket, as in the widget's configuration."""
        return self.stack.service.browser_url.replace("http", "ws", 1) + SOCKET_PATH

    @property
    def storage_key(self) -> str:
        """The localStorage key of the cached member token."""
        return MEMBER_TOKEN_PREFIX + self.provider.id

    @property
    def visitor_token_path(self) -> str:
        return VISITOR_TOKEN_PATH.format(id=self.provider.id)

    @property
    def member_token_path(self) -> str:
        return MEMBER_TOKEN_PATH.format(id=self.provider.id)

    def oauth_start_path(self, social: str) -> str:
        return OAUTH_START_PATH.format(id=self.provider.id, social=social)

    def add_page(self, html: str, *, headers: Mapping[str, str] | None = None) -> str:
        """Serve a page of the test at the business's origin, and return the address of the page.

        `headers` are the page's own, such as a `Content-Security-Policy`. Raises `LabError` for one that HTTP does not
        allow.
        """
        path = self.stack.site_lab.add_page(self.slug, f"page-{secrets.token_hex(4)}", html, headers)
        return f"{self.origin}{path}"

    def snippet(self, *, get_token: bool = True) -> str:
        """Return the HTML that an integrator adds to a page: the configuration of the widget and its script."""
        return snippet(self.provider.id, f"{self.stack.service.browser_url}/assets/sdk.js", get_token=get_token)

    @property
    def secrets(self) -> Iterable[str]:
        """All secrets of this business. They must never appear in a browser, a log or a page."""
        yield self.provider.secret_key
        for application in self.own_keys.values():
            yield from application.secrets

    @property
    def records(self) -> list[dict[str, Any]] | None:
        """The member records of the business, or None if the service does not expose them."""
        if not self.stack.has("member-records"):
            return None
        with needs.for_comfort():
            return self.stack.service_lab.members(self.provider.id)

    @property
    def token_calls(self) -> int:
        """How often the shop's `getToken` endpoint was called."""
        return self.stack.site_lab.token_calls(self.slug)

    def mint(self, *, now: float, **claims: Any) -> str:
        """Sign a socket token as this business's backend would. A claim that is None in `claims` is left out."""
        issued = int(now)
        honest = {"pid": self.provider.id, "type": "user", "iat": issued, "exp": issued + 3600}
        signed = {name: value for name, value in {**honest, **claims}.items() if value is not None}
        return jwt.encode(signed, self.provider.secret_key, algorithm="HS256")


def open_business(
    stack: Stack, *, get_token: bool = True, service_keys: Iterable[str] = (), own_keys: Iterable[str] = ()
) -> Business:
    """Create a provider and a shop. Social logins use the service's keys (mode 3) or the provider's (mode 4)."""
    service_keys, own_keys = tuple(service_keys), tuple(own_keys)
    for name in (*(f"social:{social}" for social in (*service_keys, *own_keys)), *(["own-keys"] if own_keys else [])):
        needs.note(name)
    slug = f"shop-{secrets.token_hex(4)}"
    own = {social: _register(stack, slug, social) for social in own_keys}
    socials = {social: SocialKeys("service") for social in service_keys} | {
        social: SocialKeys("own", application) for social, application in own.items()
    }
    provider = stack.service_lab.add_provider(domains=[stack.site.browser_url.partition("://")[2]], socials=socials)
    tail = slug.removeprefix("shop") if provider.origin else ""
    stack.site_lab.open_shop(slug, provider, get_token=get_token, tail=tail)
    return Business(stack, provider, slug, own, tail)


def close_business(business: Business) -> None:
    business.stack.site_lab.close_shop(business.slug)
    business.stack.service_lab.remove_provider(business.provider.id)


def _register(stack: Stack, slug: str, social: str) -> Application:
    """Register the business's application at a social provider."""
    application = new_application(social, f"{slug}-{social}")
    stack.register(application, "Alder & Loam")
    return application
