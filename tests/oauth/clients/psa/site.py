"""A site that uses social-auth-core without a web framework. The site has a session, a storage and one backend."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from chatkey_oauth.ready_made import apple_p8

with warnings.catch_warnings():
    # Its OpenID 1 part, which nothing here uses, imports a deprecated module.
    warnings.filterwarnings("ignore", "defusedxml.cElementTree is deprecated", DeprecationWarning)
    from social_core.storage import AssociationMixin
    from social_core.strategy import BaseStrategy

if TYPE_CHECKING:
    from tests.oauth.clients.browser import Browser, Callback

    from chatkey_oauth.engine.clients import Client


class Recipe(NamedTuple):
    """A backend of social-auth-core, the provider that the backend logs in with, and the backend's settings and
    attributes.

    `{p}` stands for the provider's address.
    """

    provider: str
    backend: type[Any]
    settings: dict[str, Any]
    attributes: dict[str, Any] = {}  # noqa: RUF012 - a named tuple's default


LITERAL_HOSTS = {
    "google": ("https://www.googleapis.com", "https://openidconnect.googleapis.com"),
    "discord": ("https://discord.com",),
    "apple": ("https://appleid.apple.com",),
    "x": ("https://api.twitter.com",),
    "amazon": ("https://api.amazon.com",),
}
"""Hosts that are hard-coded in methods of the backends."""


def placed(text: Any, base: str) -> Any:
    """Replace `{p}` in a setting with the provider's base address. Placeholders of the backend itself stay."""
    return text.replace("{p}", base) if isinstance(text, str) else text


def moved(recipe: Recipe, base: str) -> type[Any]:
    """Return a subclass of the backend. It sends all requests for the real provider to the fake."""
    backend = recipe.backend

    def request(self: Any, url: str, **options: Any) -> Any:
        for host in LITERAL_HOSTS.get(recipe.provider, ()):
            if url.startswith(f"{host}/"):
                url = base + url.removeprefix(host)
        return backend.request(self, url, **options)

    attributes = {name: placed(value, base) for name, value in recipe.attributes.items()}
    return type(backend.__name__, (backend,), {"request": request, **attributes})


class Nonces:
    def __init__(self) -> None:
        self._kept: set[tuple[str, int, str]] = set()

    def use(self, server_url: str, timestamp: int, salt: str) -> bool:
        self._kept.add((server_url, timestamp, salt))
        return True

    def consume(self, server_url: str, timestamp: int, salt: str) -> bool:
        """Remove a nonce, and return whether the nonce was stored."""
        known = (server_url, timestamp, salt) in self._kept
        self._kept.discard((server_url, timestamp, salt))
        return known


class Association(AssociationMixin):
    """A nonce of OpenID Connect, which social-auth-core stores as an association of the older OpenID protocol."""

    def __init__(self, number: int, stored: Any) -> None:
        self.id = number
        self.handle = stored.handle
        self.secret = stored.secret
        self.issued = stored.issued
        self.lifetime = stored.lifetime
        self.assoc_type = stored.assoc_type


class Associations:
    def __init__(self) -> None:
        self._kept: dict[int, Association] = {}

    def store(self, server_url: str, association: Any) -> None:
        number = len(self._kept) + 1
        self._kept[number] = Association(number, association)

    def get(self, server_url: str | None = None, handle: str | None = None) -> list[Association]:
        """Return the associations with this handle. Without a handle, return all associations."""
        return [kept for kept in self._kept.values() if handle in {None, kept.handle}]

    def remove(self, ids_to_delete: Iterable[int]) -> None:
        for number in ids_to_delete:
            self._kept.pop(number, None)


class Storage:
    def __init__(self) -> None:
        self.nonce = Nonces()
        self.association = Associations()


class Strategy(BaseStrategy[Any]):
    """Replaces the web framework: settings, a session, and the parameters of the callback."""

    def __init__(self, settings: Mapping[str, Any], callback: str) -> None:
        super().__init__(Storage())  # type: ignore[arg-type]
        self.settings = settings
        self.callback = callback
        self.session: dict[str, Any] = {}
        self.data: dict[str, str] = {}

    def get_setting(self, name: str) -> Any:
        return self.settings[name]

    def get_request_data(self, merge: bool = True) -> dict[str, Any]:
        return dict(self.data)

    def session_get(self, name: str, default: Any = None) -> Any:
        return self.session.get(name, default)

    def session_set(self, name: str, value: Any) -> None:
        self.session[name] = value

    def session_pop(self, name: str) -> Any:
        return self.session.pop(name, None)

    def build_absolute_uri(self, path: str | None = None) -> str:
        """Return the redirect URI, whatever path is given."""
        return self.callback

    def authenticate(self, backend: Any, *args: Any, **kwargs: Any) -> Any:
        return kwargs["response"]


@dataclass
class Site:
    name: str
    recipe: Recipe
    base: str
    client: Client
    callback: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        own = {name: placed(value, self.base) for name, value in self.recipe.settings.items()}
        keys: dict[str, Any] = {"KEY": self.client.client_id, "SECRET": self.client.client_secret}
        if self.recipe.provider == "apple":
            keys = {"CLIENT": self.client.client_id, "TEAM": self.client.team_id, "SECRET": apple_p8()}
            keys["KEY"] = self.client.key_id
        self.strategy = Strategy(own | keys | self.settings, self.callback)
        self._class = moved(self.recipe, self.base)

    def backend(self) -> Any:
        return self._class(self.strategy, redirect_uri=self.callback)

    def log_in(self, browser: Browser, person: str = "rhea") -> dict[str, Any]:
        """Run a complete login, and return the tokens and the person's data from the provider."""
        return self.complete(browser.approve(self.backend().auth_url(), person))

    def complete(self, called: Callback) -> dict[str, Any]:
        """Finish a login after the callback, and return the same data as `log_in`."""
        self.strategy.data = called.params
        said: dict[str, Any] = self.backend().auth_complete()
        return said
