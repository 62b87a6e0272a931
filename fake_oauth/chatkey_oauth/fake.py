"""One running fake: its providers by name, its people and clients, and everything that it stores."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from chatkey_oauth.by_host import called
from chatkey_oauth.engine.approval import Approval
from chatkey_oauth.engine.clients import Clients
from chatkey_oauth.engine.flows import Flows, Leg
from chatkey_oauth.engine.grants import Ring
from chatkey_oauth.engine.http import Answer, text_answer
from chatkey_oauth.engine.pages import index_page
from chatkey_oauth.engine.people import People
from chatkey_oauth.engine.switches import Switches
from chatkey_oauth.engine.world import Addresses, Random, World
from chatkey_oauth.posting import Outbox
from chatkey_oauth.providers import NAMES, check_client, declared_switches, load
from chatkey_oauth.request_log import RequestLog

if TYPE_CHECKING:
    from chatkey_oauth.by_host import Called
    from chatkey_oauth.clock import Clock
    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.provider import Provider
    from chatkey_oauth.engine.sessions import Session
    from chatkey_oauth.faults.rules import Faults
    from chatkey_oauth.faults.watch import Watch
    from chatkey_oauth.settings import Settings

HOSTS: Final = 64
"""The maximum number of host names to remember. These are the names with which clients have called a provider."""

UNWATCHED: Final = frozenset({None, Leg.DISCOVERY, Leg.KEYS})
"""The steps that belong to no flow. Unless a fault is armed, the `Watch` has nothing to do there."""

AT_GRAPH: Final = "/oidc/userinfo"
"""A path of Microsoft that begins with the name of another provider. For this path, the `Host` header decides first."""

TENANTS: Final = 64
"""The maximum number of tenants. A new tenant then replaces the oldest one."""

TENANT: Final = re.compile(
    r"(?P<document>/\.well-known/[a-z-]+)?/(?P<tenant>[A-Za-z0-9][A-Za-z0-9_-]{0,63})(?(document)|/(?P<rest>.+))"
)
"""The path of a tenant. The name of a well-known document can stand before the tenant (RFC 8414 3.1)."""

WELL_KNOWN: Final = re.compile(r"/\.well-known/([a-z-]+)/([a-z]+)(/.*)?")


class Fake:
    """One running fake, which answers requests without a framework.

    While the lab is on, a `Watch` observes every request.
    """

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        people, switches = People(settings.claims, settings.people), Switches(declared_switches, settings.switches)
        approval = Approval(people, settings.auto_approve or None)
        clients = Clients(settings.clients, check_client, takes_any=settings.any_client)
        self.outbox = Outbox()
        lives, post = settings.lifetimes, self.outbox.post
        self.world = World(clock, Random(), clients, people, switches, approval, lives, post=post)
        self.log = RequestLog(clock)
        self._providers: dict[str, Provider] = {}
        if settings.lab and settings.faults:
            self._arm()
        self._at_hosts: Ring[Provider] = Ring(HOSTS)
        self._tenants: Ring[Provider] = Ring(TENANTS)

    @cached_property
    def watch(self) -> Watch:
        """The `Watch` that observes every request while the lab is on."""
        from chatkey_oauth.faults.catalogue import FAULTS
        from chatkey_oauth.faults.rules import Faults
        from chatkey_oauth.faults.watch import Watch

        clock, random = self.world.clock, self.world.random
        return Watch(Flows(clock, random), Faults(clock, random, NAMES, FAULTS), self.world.make_key)

    @property
    def flows(self) -> Flows:
        """The login attempts recorded while the lab is on."""
        return self.watch.flows

    @property
    def faults(self) -> Faults:
        """The faults armed while the lab is on."""
        return self.watch.faults

    def provider(self, name: str) -> Provider:
        """Return a provider of `NAMES`. The provider is created at the first call."""
        if name not in self._providers:
            self._providers[name] = load(name)(self.world, self.addresses(name))
        return self._providers[name]

    def sessions(self) -> list[tuple[str, Session]]:
        """Return the sessions of all browsers, with the names of the providers."""
        providers = (*self._providers.values(), *self._tenants.newest_first())
        return [(provider.name, one) for provider in providers for one in provider.sessions.all()]

    def addresses(self, name: str) -> Addresses:
        settings = self.settings
        return Addresses(settings.browser_base(name), settings.server_base(name), settings.issuer(name))

    def reset(self) -> None:
        """Restore the initial state. Signing keys stay, because clients may have cached them."""
        self.clock.reset()
        self.world.clients.reset()
        self.world.people.reset()
        self.world.switches.reset()
        self.world.approval.reset()
        for provider in (*self._providers.values(), *self._tenants.newest_first()):
            provider.reset()
        if self.settings.lab:
            self.watch.clear()
            self._arm()
        self.log.clear()
        self.outbox.clear()

    def answer(self, call: Call) -> Answer:
        """Pass a request to its provider. If the lab is on, log the request."""
        name, path = provider_path(call.path)
        is_named = name in NAMES
        at_host = None if is_named and call.path != AT_GRAPH else called(call.headers.get("host", ""))
        if at_host is not None:
            return self._attended(self._at(at_host), call)
        if not is_named:
            return self._front(call)
        call.path = path
        return self._attended(self.provider(name), call)

    def _attended(self, provider: Provider, call: Call) -> Answer:
        if provider.has_tenants:
            provider = self._tenant(provider, call)
        if not self.settings.lab:
            return provider.respond(call)
        route = provider.route(call)
        if route.leg in UNWATCHED and not self._has_armed:
            answer, flow = provider.answer(route.handler, call), None
        else:
            answer, flow = self.watch.attend(provider, call, route)
        self.log.add(provider.name, call, answer.status, route.leg, flow)
        return answer

    def _arm(self) -> None:
        """Arm the faults of the settings. Raises `FaultError`."""
        for order in self.settings.faults:
            self.faults.arm(order)

    @property
    def _has_armed(self) -> bool:
        """Whether a fault can still act. The answer does not create the `Watch`."""
        return "watch" in vars(self) and self.faults.are_armed

    def _tenant(self, provider: Provider, call: Call) -> Provider:
        """Return the issuer of the tenant in the path, and remove the tenant from the path.

        If the path has no tenant, return the provider.
        """
        found = TENANT.fullmatch(call.path)
        if found is None or provider.owns(found["tenant"]):
            return provider
        call.path = f"/{found['rest'] or ''}" if found["document"] is None else found["document"]
        return self._tenant_of(provider, found["tenant"])

    def issuer(self, name: str, tenant: str | None) -> Provider:
        """Return a provider, or the issuer of a tenant. Providers without tenants ignore the tenant."""
        provider = self.provider(name)
        return self._tenant_of(provider, tenant) if tenant and provider.has_tenants else provider

    def _tenant_of(self, provider: Provider, tenant: str) -> Provider:
        places = Addresses(*(f"{place}/{tenant}" for place in provider.addresses))
        issuer = self._tenants.get(places.browser)
        if issuer is None:
            issuer = load(provider.name)(self.world, places)
            self._tenants.put(places.browser, issuer)
        return issuer

    def _at(self, at_host: Called) -> Provider:
        """Return a provider with addresses under its own host name, where paths begin at the root."""
        found = self._at_hosts.get(at_host.netloc)
        if found is None:
            base = f"{urlsplit(self.settings.for_browsers).scheme}://{at_host.netloc}"
            issuer = self.settings.issuers.get(at_host.provider, base)
            found = self.provider(at_host.provider).at(Addresses(base, base, issuer), at_host.real_port)
            self._at_hosts.put(at_host.netloc, found)
        return found

    def _front(self, call: Call) -> Answer:
        if call.path != "/":
            return text_answer(f"Nothing exists at {call.path!r}. Providers: {', '.join(NAMES)}.", 404)
        return index_page(map(self._place, NAMES), lab=self.settings.lab)

    def _place(self, name: str) -> tuple[str, str, list[tuple[str, str]]]:
        """Return the name and address of a provider, with the ids and secrets that are public."""
        from chatkey_oauth.ready_made import shown_keys

        clients = (client for client in self.world.clients.all() if client.provider == name)
        keys = [key for client in clients for key in shown_keys(client)]
        return self.provider(name).label, self.addresses(name).browser, keys


@lru_cache(maxsize=64)
def provider_path(path: str) -> tuple[str, str]:
    """Return the name of the provider in the path, and the rest of the path. The result is cached.

    A client may also request metadata at a well-known path before the path of the issuer (RFC 8414 3.1).
    """
    if path.startswith("/.well-known/") and (found := WELL_KNOWN.fullmatch(path)):
        document, name, rest = found.groups("")
        return name, f"/.well-known/{document}{rest}"
    name, _, rest = path.removeprefix("/").partition("/")
    return name, f"/{rest}"
