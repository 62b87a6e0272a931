"""All servers, which are started in parallel on free ports and stopped together."""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

import httpx

from chatkey_lab.guard import TOKEN_VARIABLE
from chatkey_oauth.client import FakeOAuth
from chatkey_protocol.names import ANNOUNCED_SOCIALS, AVAILABLE_SOCIALS, OAUTH_CALLBACK_PATH
from chatkey_stack.applications import Application, new_application
from chatkey_stack.lab import ServiceLab, SiteLab
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK, free_ports
from chatkey_stack.private import write_private
from chatkey_stack.process import Process
from chatkey_stack.tls import Certificates, issue, trust

SERVICE_NAME = "Chat Service"
"""The name of the service's own applications on consent pages."""


UNLIMITED: Final = {"CHATKEY_LIMIT_TOKEN_RATE": "0", "CHATKEY_LIMIT_OAUTH_RATE": "0"}
"""Switches off the rate limits, because all tests come from one address. The limits have tests of their own."""


class Flavour(StrEnum):
    """The kind of addresses at which browsers reach the servers."""

    PLAIN = "plain"
    """http and ws, all on `localhost` with different ports; no certificates."""
    TLS = "tls"
    """https and wss on three sites, `shop.localhost`, `chat.localhost` and `id.localhost`."""
    LOCAL_TLS = "local-tls"
    """https and wss, all on `localhost` with different ports. This is one site, so the pages may frame each other."""


@dataclass(frozen=True, slots=True)
class Server:
    """One server: the process, the address for browsers, and the address for programs on this machine."""

    process: Process
    browser_url: str
    local_url: str


@dataclass(frozen=True, slots=True)
class Stack:
    """The running servers and their labs."""

    flavour: Flavour
    certificates: Certificates | None
    service: Server
    provider: Server
    site: Server
    service_lab: ServiceLab
    provider_lab: FakeOAuth
    site_lab: SiteLab
    have: frozenset[str] | None = None
    """The capabilities that a foreign service declares. None for our own service, which has all of them."""

    @property
    def is_ours(self) -> bool:
        """Whether the service is this project's own, so that its pages have known texts."""
        return self.have is None

    def has(self, capability: str) -> bool:
        return self.have is None or capability in self.have

    @property
    def servers(self) -> tuple[Server, Server, Server]:
        return self.service, self.provider, self.site

    @property
    def ca(self) -> Path | None:
        """The CA file with which a client trusts the servers' certificates, or None without TLS."""
        return self.certificates.ca if self.certificates else None

    def get(self, path: str) -> httpx.Response:
        """Send the service a request as a program would, without cookies and without following redirects."""
        return httpx.get(self.service.local_url + path, verify=trust(self.ca), trust_env=False, timeout=PATIENCE)

    def callback(self, social: str) -> str:
        """Return the redirect URI to register at a social provider (contract 4.5)."""
        return callback(self.service.browser_url, social)

    def register(self, application: Application, name: str) -> None:
        """Register an application at its social provider. `name` is the name that the consent page shows."""
        redirect_uris = [self.callback(application.social)]
        self.provider_lab.add_client(
            application.social, redirect_uris=redirect_uris, name=name, **application.for_provider()
        )

    def advance(self, seconds: float, move_pages: Callable[[], object] | None = None) -> float:
        """Move the clocks of all servers and return the service's time.

        The clocks of pages are moved before the service runs its timers. Therefore no frame reaches a page that still
        has the old time, and the service answers requests from pages at the new time.
        """
        self.provider_lab.advance(seconds)
        self.site_lab.advance(seconds)
        if move_pages is None:
            return self.service_lab.advance(seconds)
        self.service_lab.hold(seconds)
        move_pages()
        return self.service_lab.advance(0)

    def reset(self) -> None:
        """Set the clocks of all servers to the system's time, and remove all faults."""
        for lab in (self.service_lab, self.provider_lab, self.site_lab):
            lab.reset()


@contextmanager
def running(
    flavour: Flavour = Flavour.TLS,
    *,
    folder: Path | None = None,
    ports: tuple[int, int, int] | None = None,
    settings: Mapping[str, str] | None = None,
    certificates: Certificates | None = None,
    more_site_ports: Sequence[int] = (),
    socials: Sequence[str] = AVAILABLE_SOCIALS,
    lab_token: str = "",
    patience: float = PATIENCE,
) -> Iterator[Stack]:
    """Start service, fake provider and site. The service has an OAuth application at each of the `socials`.

    `folder` keeps data and logs (default: a temporary folder, which is removed at the end). `ports` are those of
    service, provider and site (default: free ports). `settings` are additional `CHATKEY_*` variables of the service.
    `certificates` are used in place of new ones. The site also answers at `more_site_ports`, each of which is another
    origin. Social providers that are previews are switched on. All labs require `lab_token` if it is set. Each server
    may take `patience` seconds to start and to stop. Raises `ProcessError` with the output of the server that fails to
    start.
    """
    with ExitStack() as ending:
        kept = folder or Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="chatkey-")))
        kept.mkdir(parents=True, exist_ok=True)
        if flavour is not Flavour.PLAIN and certificates is None:
            certificates = ending.enter_context(issue(kept))
        plan = _Plan(
            flavour,
            kept,
            ports or _three_ports(),
            certificates,
            tuple(more_site_ports),
            tuple(socials),
            lab_token,
            patience,
        )
        yield _start(plan, settings or {}, ending)


@dataclass(frozen=True, slots=True)
class _Plan:
    flavour: Flavour
    folder: Path
    ports: tuple[int, int, int]
    certificates: Certificates | None
    more_site_ports: tuple[int, ...]
    socials: tuple[str, ...]
    lab_token: str = field(repr=False)
    patience: float

    @property
    def scheme(self) -> str:
        return "http" if self.flavour is Flavour.PLAIN else "https"

    def browser_url(self, name: str, port: int) -> str:
        host = f"{name}.localhost" if self.flavour is Flavour.TLS else "localhost"
        return f"{self.scheme}://{host}:{port}"

    def local_url(self, port: int) -> str:
        return f"{self.scheme}://{LOOPBACK}:{port}"


def _three_ports() -> tuple[int, int, int]:
    service, provider, site = free_ports(3)
    return service, provider, site


def _start(plan: _Plan, settings: Mapping[str, str], ending: ExitStack) -> Stack:
    certificates = plan.certificates
    service_port, provider_port, site_port = plan.ports
    service_url = plan.browser_url("chat", service_port)
    provider_url = plan.browser_url("id", provider_port)
    site_url = plan.browser_url("shop", site_port)
    tls = ("--tls-cert", str(certificates.chain), "--tls-key", str(certificates.key)) if certificates else ()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}

    def process(name: str, *command: str, extra: Mapping[str, str] | None = None) -> Process:
        started = Process(
            name,
            (sys.executable, "-m", "chatkey_stack.tied", *command),
            environ={**environ, "PYTHONUNBUFFERED": "1", TOKEN_VARIABLE: plan.lab_token, **(extra or {})},
            log=plan.folder / f"{name}.log",
            ready_within=plan.patience,
            ends_within=max(plan.patience, PATIENCE),  # an early end would hide why a start failed
            tied=True,
        )
        ending.callback(started.stop)
        started.start()
        return started

    service = process(
        "service",
        "chatkey",
        "serve",
        extra={
            "CHATKEY_BASE_URL": service_url,
            "CHATKEY_HOST": LOOPBACK,
            "CHATKEY_PORT": str(service_port),
            "CHATKEY_DATA_DIR": str(plan.folder / "data"),
            "CHATKEY_LAB": "1",
            **_tls_settings(certificates),
            **_social_settings(plan.socials, provider_url, plan.local_url(provider_port)),
            **settings,
        },
    )
    applications = [new_application(social, f"service-{social}") for social in plan.socials]
    clients = plan.folder / "clients.json"
    write_private(clients, json.dumps([_client(application, service_url) for application in applications]))
    provider = process(
        "provider",
        *("chatkey", "fake-oauth", "--lab", "--port", str(provider_port), "--clients", str(clients)),
        *("--browser-url", provider_url, "--server-url", plan.local_url(provider_port)),
        *tls,
    )
    site = process(
        "site",
        "chatkey_stack.site",
        *(part for port in (site_port, *plan.more_site_ports) for part in ("--port", str(port))),
        *("--browser-url", site_url, "--service-url", service_url),
        *("--sdk-url", f"{service_url}/assets/sdk.js"),
        *tls,
    )
    for started in (service, provider, site):
        started.wait_ready()
    ca = certificates.ca if certificates else None
    service_lab = ending.enter_context(
        closing(ServiceLab(plan.local_url(service_port), ca, plan.lab_token, plan.patience))
    )
    for application in applications:
        service_lab.set_application(application)
    return Stack(
        flavour=plan.flavour,
        certificates=certificates,
        service=Server(service, service_url, plan.local_url(service_port)),
        provider=Server(provider, provider_url, plan.local_url(provider_port)),
        site=Server(site, site_url, plan.local_url(site_port)),
        service_lab=service_lab,
        provider_lab=ending.enter_context(
            FakeOAuth(plan.local_url(provider_port), verify=trust(ca), token=plan.lab_token, patience=plan.patience)
        ),
        site_lab=ending.enter_context(closing(SiteLab(plan.local_url(site_port), ca, plan.lab_token, plan.patience))),
    )


def _tls_settings(certificates: Certificates | None) -> dict[str, str]:
    if certificates is None:
        return {}
    return {
        "CHATKEY_TLS_CERT": str(certificates.chain),
        "CHATKEY_TLS_KEY": str(certificates.key),
        "CHATKEY_CA_FILE": str(certificates.ca),
    }


def callback(service_url: str, social: str) -> str:
    """Return the service's redirect URI for a social provider (contract 4.5)."""
    return service_url + OAUTH_CALLBACK_PATH.format(social=social)


def _social_settings(socials: Sequence[str], browser_url: str, server_url: str) -> dict[str, str]:
    announced = [social for social in socials if social in ANNOUNCED_SOCIALS]
    settings = {"CHATKEY_PREVIEW_PROVIDERS": ",".join(announced)}
    for social in socials:
        settings[f"CHATKEY_{social.upper()}_BROWSER_URL"] = f"{browser_url}/{social}"
        settings[f"CHATKEY_{social.upper()}_SERVER_URL"] = f"{server_url}/{social}"
    return settings


def _client(application: Application, service_url: str) -> dict[str, object]:
    """Return an application of the service (mode 3) as an entry of the fake provider's clients file."""
    known = {"provider": application.social, "name": SERVICE_NAME, **application.for_provider()}
    return {**known, "redirect_uris": [callback(service_url, application.social)]}
