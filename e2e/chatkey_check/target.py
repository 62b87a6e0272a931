"""What to check and with what."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from chatkey_check.defaults import RESULTS, TIMEOUT
from chatkey_check.exchange import Header, origin
from chatkey_check.shape import EXAMPLE, Shape


class OptionError(ValueError):
    """An option that cannot be used; the message names it and says what to write instead."""


class BrowserMissing(OptionError):
    """An option needs a browser, and there is none; the message says what to type."""


@dataclass(frozen=True, slots=True)
class Login:
    """How one person is logged in: by headers that carry a session, or by a form to be sent first."""

    headers: tuple[Header, ...] = field(default=(), repr=False)
    url: str = ""
    fields: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    passwords: tuple[str, ...] = field(default=(), repr=False)
    """Those of the values that must not be shown."""


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What the end of a run may use; where nothing of it is given, it is left out."""

    service_url: str | None = None
    """Base address of a service that runs; otherwise the reference server is started."""
    sdk_url: str | None = None
    """Address of the widget's script; otherwise the service's own."""
    browser: bool = False
    by_hand: bool = False
    """Whether somebody logs in by hand, in a browser that can be seen."""
    passkeys: Path | None = None
    """Where the passkeys of a login by hand are kept; None leaves that to the person's own devices."""
    results: Path = RESULTS
    """Where traces and screenshots of failures go."""


@dataclass(frozen=True, slots=True)
class Target:
    """One endpoint, and what is known about it."""

    url: str
    provider_id: str | None = None
    secret: str | None = field(default=None, repr=False)
    other_secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Secrets of other environments, by the names of the variables they came from."""
    login: Login | None = None
    login_b: Login | None = None
    headers: tuple[Header, ...] = field(default=(), repr=False)
    """Sent with every call; `{cookie:NAME}` stands for the session's cookie of that name."""
    page_origin: str | None = None
    page_url: str | None = None
    whoami: str | None = None
    logout_url: str | None = None
    insecure_tls: bool = False
    ca: Path | None = None
    connect_to: Mapping[str, str] = field(default_factory=dict[str, str])
    """Addresses to use for host names, instead of asking the resolver."""
    timeout: float = TIMEOUT
    shape: Shape = EXAMPLE
    """How the endpoint is called, and where its answer has the token."""
    logout_selector: str | None = None
    """What a person clicks on the page to log out, as a CSS selector."""
    live: LiveOptions | None = None
    """How the run ends; None leaves the socket and the browser out."""
    shown: Mapping[str, str] = field(default_factory=dict[str, str])
    """The options as they may stand in a report."""

    @property
    def origin(self) -> str:
        """The origin of the endpoint."""
        return origin(self.url)

    @property
    def page(self) -> str:
        """The origin of the page that calls the endpoint."""
        return self.page_origin or self.origin

    @property
    def host(self) -> str:
        """The endpoint's host, in lower case, without brackets."""
        return (urlsplit(self.url).hostname or "").lower()

    @property
    def port(self) -> int:
        """The port on which the endpoint listens, which an address need not name."""
        parts = urlsplit(self.url)
        return parts.port or (443 if parts.scheme == "https" else 80)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address that requests go to."""
        logins = (login.url for login in (self.login, self.login_b) if login)
        service = (self.live.service_url, self.live.sdk_url) if self.live else ()
        return tuple(filter(None, (self.url, self.page_url, self.whoami, self.logout_url, *service, *logins)))

    @property
    def secure(self) -> bool:
        """Whether any of the addresses is https."""
        return any(address.startswith("https:") for address in self.addresses)

    @property
    def local(self) -> bool:
        """Whether every call stays on this machine."""
        hosts = {(urlsplit(address).hostname or "").lower() for address in self.addresses}
        return all(is_loopback(self.connect_to.get(host, host)) for host in hosts)


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine: `localhost`, a name below it, or a loopback address."""
    host = host.lower().rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
