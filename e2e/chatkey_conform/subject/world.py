"""State that all cases of a run share: the target's address, businesses and clock, and the HTTP client."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from threading import RLock
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from chatkey_conform.capabilities import NotApplicable, socials
from chatkey_conform.grades.business import Business, Businesses, HarnessError
from chatkey_conform.grades.opening import businesses_of, capabilities_of
from chatkey_conform.judging.verdict import Broken
from chatkey_conform.subject.answer import Answer
from chatkey_conform.subject.hurry import SLOWEST, within
from chatkey_conform.subject.pace import Pace
from chatkey_conform.subject.peer import Patience
from chatkey_conform.target import Target
from chatkey_protocol.limits import Limits
from chatkey_stack.patience import PATIENCE

DOMAIN: Final = "shop.example"
CLIENT: Final = {"client_id": "shop-client", "client_secret": "shop-client-secret"}
OWN_KEYED: Final = frozenset({"apple"})
"""Social providers that need more keys than an id and a secret. For these the service's own application is used."""


class World:
    """The target of a run. Raises `TargetError` or `HarnessError` if the target's adapter does not respond."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.businesses: Businesses = businesses_of(target)
        self.capabilities = capabilities_of(target, self.businesses)
        self.limits: Limits = target.limits
        self.trust = target.trust()
        self.http = self.client()
        self.secrets = target.secrets()
        self.patience = Patience(frames_per_second=self.limits.frames_per_second)
        self.skew: float | None = None
        self.offset = 0.0
        self._of_logins, self._of_others = Pace(), Pace()
        self._lock = RLock()
        self._shared: list[Business] = []
        self._socket_uri = ""

    def client(self) -> httpx.Client:
        """Return an HTTP client for the target that follows no redirects and keeps no cookies."""
        client = httpx.Client(verify=self.trust, timeout=PATIENCE, trust_env=False, follow_redirects=False)
        client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
        return client

    def request(self, method: str, address: str, client: httpx.Client | None = None, **given: Any) -> httpx.Response:
        """Send a request, and return the whole response. Raises `httpx.HTTPError`, also if a service only drips."""
        return within(SLOWEST, partial((client or self.http).request, method, address, **given))

    def reach(self) -> None:
        """Ask for the configuration of a business. Raises `HarnessError` if no service of the profile answers.

        The answer may be wrong in any other way, which is for the cases to judge.
        """
        address = f"{self.target.local_url}/v1/public/provider/{self.shared(0).id}"
        try:
            got = self.request("GET", address)
        except httpx.HTTPError as error:
            raise HarnessError(f"No response from {self.target.local_url}: {error}.") from None
        if got.status_code == HTTPStatus.NOT_FOUND and self.businesses.prepared():
            raise HarnessError(f"{address} is answered with 404. Check the id of the business, base_url and local_url.")
        if not got.content.lstrip().startswith(b"{") and got.status_code != HTTPStatus.TOO_MANY_REQUESTS:
            raise HarnessError(f"{address} is answered without JSON. Check base_url and local_url.")

    def close(self) -> None:
        """Delete the businesses that were created, and close the connections."""
        prepared = self.businesses.prepared()
        for business in self._shared:
            if business not in prepared:
                with suppress(HarnessError):
                    self.businesses.remove(business)
        self.businesses.close()
        self.http.close()

    def pace(self, path: str) -> Pace:
        """Return the rate limit of a path. Social logins have a separate limit."""
        return self._of_logins if "/oauth/" in path else self._of_others

    def has(self, capability: str) -> bool:
        return capability in self.capabilities

    def needs(self, capability: str) -> None:
        """Raise `NotApplicable` unless the target declares this capability."""
        if capability not in self.capabilities:
            raise NotApplicable(capability)

    def now(self) -> float:
        """Return an estimate of the service's time. The estimate is never ahead of the service's time."""
        return time.time() + (self.skew or 0.0) + self.offset

    def learn_time(self, server_time: float) -> None:
        """Correct the estimate from the service's time in a frame that was just received."""
        off = server_time - time.time()
        self.skew = off if self.skew is None else max(self.skew, off)

    # businesses

    def shared(self, number: int) -> Business:
        """Return the first, second or third business that cases share. Create the business if it does not exist yet."""
        if number < len(self._shared):
            return self._shared[number]
        with self._lock:
            prepared = self.businesses.prepared()
            while len(self._shared) <= number:
                at = len(self._shared)
                if at < len(prepared):
                    self._shared.append(prepared[at])
                    continue
                if prepared or at:
                    self.needs("businesses")
                self._shared.append(self.make({}))
            return self._shared[number]

    def make(self, members: Mapping[str, Any]) -> Business:
        """Create a business with all declared social logins. `members` are as in `lab.v1`."""
        made = self.businesses.provision({"domains": [DOMAIN], "socials": self.logins(), **members})
        with self._lock:
            self.secrets |= {made.secret_key}
        return made

    def logins(self) -> dict[str, dict[str, object]]:
        """Return the social logins of a new business.

        They use the business's keys if the target declares this capability, and otherwise the service's keys.
        """
        own: dict[str, object] = {"key_source": "own", "enabled": True, **CLIENT}
        service: dict[str, object] = {"key_source": "service", "enabled": True}
        by_own = self.has("own-keys")
        names = socials(self.capabilities)
        return {name: dict(own if by_own and name not in OWN_KEYED else service) for name in names}

    # the clock

    def advance(self, seconds: float) -> None:
        self.needs("clock")
        self.businesses.advance(seconds)
        self.offset += seconds

    def restore(self) -> None:
        if self.offset:
            self.businesses.reset()
            self.offset = 0.0

    # the socket's address

    @property
    def socket_uri(self) -> str:
        """The socket's address in the configuration. Raises `Broken` if the configuration has none."""
        with self._lock:
            if not self._socket_uri:
                self._socket_uri = self._ask_socket_uri()
            return self._socket_uri

    def _ask_socket_uri(self) -> str:
        path = f"/v1/public/provider/{self.shared(0).id}"

        def send() -> Answer:
            got = self.request("GET", self.target.local_url + path)
            return Answer(f"GET {path}", got.status_code, got.headers, got.content)

        try:
            uri = self.pace(path).keep(send).json()["data"]["socket_uri"]
        except (httpx.HTTPError, KeyError, TypeError):
            raise Broken("The configuration has no socket_uri") from None
        if not isinstance(uri, str) or urlsplit(uri).scheme not in {"ws", "wss"}:
            raise Broken(f"socket_uri is {uri!r}, expected a ws: or wss: URL")
        return uri

    @property
    def socket_address(self) -> str:
        """The address at which the suite connects to the socket."""
        base, local = (_of_socket(url) for url in (self.target.base_url, self.target.local_url))
        uri = self.socket_uri
        return local + uri.removeprefix(base) if uri.startswith(base) else uri


def _of_socket(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{'wss' if scheme == 'https' else 'ws'}://{rest}"
