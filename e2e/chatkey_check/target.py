"""The endpoint to check, and the settings of the check."""

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
    """An option has an unusable value. The message names the option and says what to write instead."""


class BrowserMissing(OptionError):
    """An option needs a browser, but no browser can be used. The message says what to install."""


@dataclass(frozen=True, slots=True)
class Login:
    """How one person logs in: with headers that contain a session, or with a form that is sent first."""

    headers: tuple[Header, ...] = field(default=(), repr=False)
    url: str = ""
    fields: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    passwords: tuple[str, ...] = field(default=(), repr=False)
    """The field values that must not be shown."""


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """The settings of the live part of a run."""

    service_url: str | None = None
    """Base address of an existing service. If None, the reference server is started."""
    sdk_url: str | None = None
    """Address of the widget's script. If None, the service's own address is used."""
    browser: bool = False
    by_hand: bool = False
    """Whether somebody logs in by hand, in a visible browser."""
    passkeys: Path | None = None
    """File in which the passkeys of a login by hand are kept. If None, the person uses their own devices."""
    results: Path = RESULTS
    """Folder for traces and screenshots of failures."""


@dataclass(frozen=True, slots=True)
class Target:
    """One endpoint, and what is known about it."""

    url: str
    provider_id: str | None = None
    secret: str | None = field(default=None, repr=False)
    other_secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Secrets of other environments, by the name of the environment variable."""
    login: Login | None = None
    login_b: Login | None = None
    must_refuse: tuple[Header, ...] = field(default=(), repr=False)
    """Sessions that must get no token, each as a header."""
    headers: tuple[Header, ...] = field(default=(), repr=False)
    """Sent with every call. `{cookie:NAME}` stands for the session's cookie of that name."""
    page_origin: str | None = None
    page_url: str | None = None
    whoami: str | None = None
    logout_url: str | None = None
    insecure_tls: bool = False
    ca: Path | None = None
    connect_to: Mapping[str, str] = field(default_factory=dict[str, str])
    """Addresses to connect to, by host name, instead of those that the resolver returns."""
    timeout: float = TIMEOUT
    shape: Shape = EXAMPLE
    """How the endpoint is called, and where its answer contains the token."""
    logout_selector: str | None = None
    """CSS selector of the element that a person clicks on the page to log out."""
    live: LiveOptions | None = None
    """Settings of the live part of the run. None leaves out the socket and the browser."""
    shown: Mapping[str, str] = field(default_factory=dict[str, str])
    """The options in the form in which a report shows them."""

    @property
    def origin(self) -> str:
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
        """The endpoint's port; by default that of the scheme."""
        parts = urlsplit(self.url)
        return parts.port or (443 if parts.scheme == "https" else 80)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address to which requests are sent."""
        logins = (login.url for login in (self.login, self.login_b) if login)
        service = (self.live.service_url, self.live.sdk_url) if self.live else ()
        return tuple(filter(None, (self.url, self.page_url, self.whoami, self.logout_url, *service, *logins)))

    @property
    def secure(self) -> bool:
        """Whether any of the addresses is https."""
        return any(address.startswith("https:") for address in self.addresses)

    def allows(self, url: str) -> bool:
        """Return whether requests to an address are allowed: it is on this machine, or the run is not limited to it."""
        host = (urlsplit(url).hostname or "").lower()
        return not self.local or is_loopback(self.connect_to.get(host, host))

    @property
    def local(self) -> bool:
        """Whether all calls stay on this machine."""
        hosts = {(urlsplit(address).hostname or "").lower() for address in self.addresses}
        return all(is_loopback(self.connect_to.get(host, host)) for host in hosts)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine: `localhost`, a subdomain of `localhost`, or a loopback address."""
    host = host.lower().rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
