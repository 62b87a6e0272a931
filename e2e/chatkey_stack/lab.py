"""Typed clients for the labs of the service and the site: what a test may arrange and see. The fake has its own."""

from collections.abc import Callable, Sequence
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
    """JSON over HTTP to one process's lab. Every answer is unwrapped from `data`."""

    def __init__(self, url: str, ca: Path | None, token: str = "") -> None:
        self._http = httpx.Client(
            base_url=f"{url}/lab",
            verify=trust(ca),
            headers=bearer(token),
            limits=httpx.Limits(max_keepalive_connections=0),  # an idle TLS peer holds back a server that restarts
            timeout=2 * PATIENCE,  # what is asked for may have to be waited for, on the other side
            trust_env=False,
        )
        self.on_ask: Callable[[str, str], object] | None = None
        """Told of each request before it is sent: its method, and its path below `/lab`."""

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def advance(self, seconds: float) -> float:
        """Move the process's clock and return its new time, seconds since the epoch."""
        return float(self.ask("POST", "/clock", {"advance": seconds})["now"])

    def reset(self) -> None:
        """Put the clock and everything armed back."""
        self.ask("POST", "/reset")

    def ask(self, method: str, path: str, body: object = None, **query: str | float) -> Any:
        """Send one request and return its `data`. Raises `LabError` for any answer but 2xx."""
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
    """A provider of the service, made for one test or one demo shop."""

    id: str
    secret_key: str = field(repr=False)
    origin: str = ""
    """Where its pages have to be, if not at the site's own address."""


@dataclass(frozen=True, slots=True)
class SocialKeys:
    """How a provider logs in with one social provider: by the service's keys, or by its own."""

    key_source: KeySource
    application: Application | None = None
    enabled: bool = True

    def wire(self) -> dict[str, object]:
        """Return the members that are set."""
        application = self.application.for_service() if self.application else {}
        return {"key_source": self.key_source, "enabled": self.enabled, **application}


class ServiceLab(Lab):
    """The chat service's lab."""

    _has_armed = False

    def hold(self, seconds: float) -> None:
        """Move the clock, and leave what has become due to the next move, so that pages can be moved in between."""
        self.ask("POST", "/clock", {"advance": seconds, "alarms": False})

    def now(self) -> float:
        """Return the service's time, seconds since the epoch."""
        return float(self.ask("GET", "/clock")["now"])

    def add_provider(
        self, *, domains: Sequence[str], socials: dict[str, SocialKeys] | None = None, **members: object
    ) -> Provider:
        """Make an isolated provider."""
        body = {"domains": list(domains), "socials": _wire(socials or {}), **members}
        made = self.ask("POST", "/providers", body)
        return Provider(made["id"], made["secret_key"])

    def change_provider(
        self, provider_id: str, *, socials: dict[str, SocialKeys] | None = None, **members: object
    ) -> None:
        """Change a provider as an admin would: the service's own cache is left to age."""
        body = members if socials is None else {"socials": _wire(socials), **members}
        self.ask("PATCH", f"/providers/{provider_id}", body)

    def remove_provider(self, provider_id: str) -> None:
        """Delete a provider."""
        self.ask("DELETE", f"/providers/{provider_id}")

    def set_application(self, application: Application) -> None:
        """Give the service its own keys at one social provider."""
        self.ask("POST", "/applications", {"social": application.social, **application.for_service()})

    def add_agent(self, username: str, password: str) -> None:
        """Make an agent who can sign in to the agent panel."""
        self.ask("POST", "/agents", {"username": username, "password": password})

    def add_administrator(self, username: str, password: str) -> None:
        """Make an administrator who can sign in to the admin panel."""
        self.ask("POST", "/administrators", {"username": username, "password": password})

    def members(self, provider_id: str) -> list[dict[str, Any]]:
        """Return the member records of a provider."""
        return list(self.ask("GET", "/members", provider=provider_id))

    def agent(self, provider_id: str, uid: str, do: AgentDeed, **more: object) -> dict[str, Any]:
        """Have an agent read the conversation of somebody, answer in it or end its call, and return it."""
        return dict(self.ask("POST", "/agent", {"id": provider_id, "uid": uid, "do": do, **more}))

    def events(self, *, after: int = 0, kind: str = "", wait: float = 0) -> list[dict[str, Any]]:
        """Return logged events after number `after`; with `wait`, stay up to so many seconds until there is one."""
        return list(self.ask("GET", "/events", after=after, kind=kind, wait=wait)["events"])

    def arm(self, **rule: object) -> None:
        """Arm one fault rule."""
        self._has_armed = True
        self.ask("POST", "/faults", rule)

    def armed(self) -> list[dict[str, Any]]:
        """Return what was armed from here and is armed still, each with its `rule` and its `hits`."""
        return list(self.ask("GET", "/faults")) if self._has_armed else []

    def disarm(self) -> None:
        """Disarm all that was armed from here."""
        if self._has_armed:
            self.ask("DELETE", "/faults")
        self._has_armed = False


class SiteLab(Lab):
    """The integrator's site's control API."""

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
        """Open a shop that embeds the widget of `provider`; the page at the origin `spy` may watch it.

        The ids of those who sign in end in `tail`.
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

    def add_page(self, slug: str, name: str, html: str) -> str:
        """Put a page beside a shop's, where its cookie counts and its origin is registered, and return its path."""
        return str(self.ask("POST", f"/shops/{slug}/pages", {"name": name, "html": html})["path"])

    def close_shop(self, slug: str) -> None:
        """Close a shop."""
        self.ask("DELETE", f"/shops/{slug}")

    def token_calls(self, slug: str) -> int:
        """Return how often the shop's `getToken` endpoint was called."""
        return int(self.ask("GET", f"/shops/{slug}")["token_calls"])


def _wire(socials: dict[str, SocialKeys]) -> dict[str, dict[str, object]]:
    return {name: keys.wire() for name, keys in socials.items()}
