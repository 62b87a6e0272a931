"""Typed clients for the labs of the service and the site, with which tests prepare and inspect the servers.

The client for the fake provider's lab is in `chatkey_oauth`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx

from chatkey_lab.guard import bearer
from chatkey_oauth.client import refusal
from chatkey_stack.applications import Application
from chatkey_stack.patience import PATIENCE
from chatkey_stack.tls import trust

KeySource = Literal["service", "own"]
AgentDeed = Literal["read", "answer", "end"]


class Lab:
    """A client for the lab of one process, with JSON over HTTP. Every method returns the content of `data`."""

    def __init__(self, url: str, ca: Path | None, token: str = "", patience: float = PATIENCE) -> None:
        self._http = httpx.Client(
            base_url=f"{url}/lab",
            verify=trust(ca),
            headers=bearer(token),
            limits=httpx.Limits(max_keepalive_connections=0),  # an idle TLS connection delays a server's restart
            timeout=2 * patience,  # the server may have to wait for things itself
            trust_env=False,
        )
        self.on_ask: Callable[[str, str], object] | None = None
        """Called before each request is sent, with its method and its path below `/lab`."""

    def close(self) -> None:
        self._http.close()

    def advance(self, seconds: float) -> float:
        """Move the clock of the process, and return the new time in seconds since the epoch."""
        return float(self.ask("POST", "/clock", {"advance": seconds})["now"])

    def reset(self) -> None:
        """Reset the clock and remove all armed faults."""
        self.ask("POST", "/reset")

    def ask(self, method: str, path: str, body: object = None, **query: str | float) -> Any:
        """Send one request and return its `data`. Raises `LabError` if the status is not 2xx."""
        if self.on_ask is not None:
            self.on_ask(method, path)
        answer = (
            self._http.request(method, path, json=body, params=query)
            if body is not None
            else (self._http.request(method, path, params=query))
        )
        if not answer.is_success:
            raise refusal(answer)
        return answer.json()["data"] if answer.content else None


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider that was created in the service for one test or one demo shop."""

    id: str
    secret_key: str = field(repr=False)
    origin: str = ""
    """The origin of its pages, if it is not the site's own address."""


@dataclass(frozen=True, slots=True)
class SocialKeys:
    """How a provider uses one social provider: with the service's keys, or with the provider's own keys."""

    key_source: KeySource
    application: Application | None = None
    enabled: bool = True

    def wire(self) -> dict[str, object]:
        """Return the members of the request that are set."""
        application = self.application.for_service() if self.application else {}
        return {"key_source": self.key_source, "enabled": self.enabled, **application}


class ServiceLab(Lab):
    """The chat service's lab."""

    _has_armed = False

    def hold(self, seconds: float) -> None:
        """Move the clock, but call due alarms only at the next move. Meanwhile, the clocks of pages can be moved."""
        self.ask("POST", "/clock", {"advance": seconds, "alarms": False})

    def now(self) -> float:
        """Return the service's time, seconds since the epoch."""
        return float(self.ask("GET", "/clock")["now"])

    def add_provider(
        self, *, domains: Sequence[str], socials: dict[str, SocialKeys] | None = None, **members: object
    ) -> Provider:
        """Create a provider that is isolated from all others."""
        body = {"domains": list(domains), "socials": _wire(socials or {}), **members}
        made = self.ask("POST", "/providers", body)
        return Provider(made["id"], made["secret_key"])

    def change_provider(
        self, provider_id: str, *, socials: dict[str, SocialKeys] | None = None, **members: object
    ) -> None:
        """Change a provider as an administrator would. The service's cache delays the effect of the change."""
        body = members if socials is None else {"socials": _wire(socials), **members}
        self.ask("PATCH", f"/providers/{provider_id}", body)

    def remove_provider(self, provider_id: str) -> None:
        self.ask("DELETE", f"/providers/{provider_id}")

    def set_application(self, application: Application) -> None:
        """Give the service its own keys at one social provider."""
        self.ask("POST", "/applications", {"social": application.social, **application.for_service()})

    def add_agent(self, username: str, password: str) -> None:
        """Create an agent who can sign in to the agent panel."""
        self.ask("POST", "/agents", {"username": username, "password": password})

    def add_administrator(self, username: str, password: str) -> None:
        """Create an administrator who can sign in to the admin panel."""
        self.ask("POST", "/administrators", {"username": username, "password": password})

    def members(self, provider_id: str) -> list[dict[str, Any]]:
        return list(self.ask("GET", "/members", provider=provider_id))

    def agent(self, provider_id: str, uid: str, do: AgentDeed, **more: object) -> dict[str, Any]:
        """Let an agent read a person's conversation, answer in it, or end its call. Returns the conversation."""
        return dict(self.ask("POST", "/agent", {"id": provider_id, "uid": uid, "do": do, **more}))

    def events(self, *, after: int = 0, kind: str = "", wait: float = 0) -> list[dict[str, Any]]:
        """Return events with numbers above `after`. If there are none yet, wait for one, at most `wait` seconds."""
        return list(self.ask("GET", "/events", after=after, kind=kind, wait=wait)["events"])

    def arm(self, **rule: object) -> None:
        self._has_armed = True
        self.ask("POST", "/faults", rule)

    def armed(self) -> list[dict[str, Any]]:
        """Return the active rules that this client armed. Each entry has the `rule` and its `hits`."""
        return list(self.ask("GET", "/faults")) if self._has_armed else []

    def disarm(self) -> None:
        """Remove all rules that this client armed."""
        if self._has_armed:
            self.ask("DELETE", "/faults")
        self._has_armed = False


class SiteLab(Lab):
    """A client for the control API of the integrator's site."""

    def open_shop(
        self,
        slug: str,
        provider: Provider,
        *,
        get_token: bool,
        title: str = "Alder & Loam",
        spy: str | None = None,
        tail: str = "",
    ) -> None:
        """Open a shop that embeds the widget of `provider`. The page at the origin `spy` may observe the widget.

        `tail` is added to the ids of the people who sign in.
        """
        self.ask(
            "POST",
            "/shops",
            {
                "slug": slug,
                "provider_id": provider.id,
                "secret_key": provider.secret_key,
                "get_token": get_token,
                "title": title,
                "spy": spy,
                "tail": tail,
            },
        )

    def add_page(self, slug: str, name: str, html: str, headers: Mapping[str, str] | None = None) -> str:
        """Add a page to a shop. The page has the origin and the cookie of the shop. Returns the path of the page."""
        body = {"name": name, "html": html, "headers": dict(headers or {})}
        return str(self.ask("POST", f"/shops/{slug}/pages", body)["path"])

    def close_shop(self, slug: str) -> None:
        self.ask("DELETE", f"/shops/{slug}")

    def token_calls(self, slug: str) -> int:
        """Return how often the shop's `getToken` endpoint was called."""
        return int(self.ask("GET", f"/shops/{slug}")["token_calls"])


def _wire(socials: dict[str, SocialKeys]) -> dict[str, dict[str, object]]:
    return {name: keys.wire() for name, keys in socials.items()}
