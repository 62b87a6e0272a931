"""The settings of the fake. All are checked before anything starts."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from chatkey_lab.guard import TOKEN_VARIABLE, check_token
from chatkey_lab.hosts import is_loopback
from chatkey_oauth.engine.addresses import WEB, is_uri
from chatkey_oauth.engine.clients import Client, ClientError
from chatkey_oauth.engine.people import EVERYBODY, SEEDED, Person
from chatkey_oauth.providers import NAMES, check_client

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chatkey_oauth.faults.rules import Order

LIFETIMES: Final = ("code", "access", "refresh", "id")
"""The lifetimes that can be set for `oidc`."""

IMPLIED_PORTS: Final = {"http": 80, "https": 443}
"""The default port of each scheme (RFC 9110 4.2)."""


class SettingsError(Exception):
    """An invalid setting. The message names the setting and says what to write. It never contains a password."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses, clients and switches.

    Browsers use `browser_url`, and login backends use `server_url`. Both default to the address at which the fake
    listens. `browser_urls`, `server_urls` and `issuers` override these addresses by provider name. Each of their values
    is the base address of one provider, not of the fake. The issuer defaults to the address for browsers. A provider
    has only one issuer.

    `auto_approve` is the account that approves every request automatically. `switches` sets switches by
    `<provider>.<switch>`. With `any_client`, unregistered clients are accepted too, with any secret and any redirect
    URI on this machine. `claims` are the claims of the seeded people at `oidc`, by id or for everybody (`*`).
    `lifetimes` are the lifetimes at `oidc` in seconds (`code`, `access`, `refresh`, `id`). `people` are added to the
    seeded people. `faults` are armed at the start and after a reset, if the lab is on.

    A lab that other machines can reach needs `lab_token`, which `repr` does not show. The fake serves https with the
    context `tls` if there is one, otherwise with the files `tls_cert` and `tls_key`.
    """

    host: str = "127.0.0.1"
    port: int = 9911
    browser_url: str = ""
    server_url: str = ""
    browser_urls: dict[str, str] = {}
    server_urls: dict[str, str] = {}
    issuers: dict[str, str] = {}
    tls_cert: str = ""
    tls_key: str = ""
    tls: ssl.SSLContext | None = None
    lab: bool = False
    lab_token: str = ""
    auto_approve: str = ""
    clients: Sequence[Client] = ()
    any_client: bool = False
    claims: dict[str, dict[str, Any]] = {}
    lifetimes: dict[str, int] = {}
    people: Sequence[Person] = ()
    faults: Sequence[Order] = ()
    switches: dict[str, bool] = {}

    def __post_init__(self) -> None:
        if bool(self.tls_cert) != bool(self.tls_key):
            raise SettingsError(
                "TLS needs both a certificate and a key: give both --tls-cert and --tls-key, or neither."
            )
        accounts = list(dict.fromkeys(person.id for person in (*SEEDED, *self.people)))
        if self.auto_approve and self.auto_approve not in accounts:
            raise SettingsError(f"--auto-approve: {self.auto_approve!r} is not one of {', '.join(accounts)}.")
        for account in self.claims:
            if account not in {EVERYBODY, *accounts}:
                raise SettingsError(f"--claims: there is no account {account!r}. For everybody, use {EVERYBODY!r}.")
        check_addresses("--browser-url", self.browser_url, self.browser_urls)
        check_addresses("--server-url", self.server_url, self.server_urls)
        check_addresses("--issuer", "", self.issuers)
        if self.lab_token:
            check_lab_token(self.lab_token)
        elif self.lab and not is_only_here(self.host, self.browser_url):
            raise SettingsError(
                f"The lab must only be reachable from this machine: listen on 127.0.0.1 instead of {self.host!r} and "
                f"keep --browser-url on this machine, or set {TOKEN_VARIABLE}. All clients of the lab must then send "
                "its value."
            )

    def __repr__(self) -> str:
        return f"Settings(host={self.host!r}, port={self.port}, …)"

    @property
    def listens_at(self) -> str:
        """The address of the listening socket in normalised form. The default port of the scheme is omitted."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "https" if self.tls_cert or self.tls else "http"
        return f"{scheme}://{host}" if self.port == IMPLIED_PORTS[scheme] else f"{scheme}://{host}:{self.port}"

    @property
    def for_browsers(self) -> str:
        """The base address for browsers, without a trailing slash."""
        return (self.browser_url or self.listens_at).rstrip("/")

    @property
    def for_servers(self) -> str:
        """The base address for login backends, without a trailing slash."""
        return (self.server_url or self.for_browsers).rstrip("/")

    def browser_base(self, provider: str) -> str:
        return self.browser_urls.get(provider, f"{self.for_browsers}/{provider}").rstrip("/")

    def server_base(self, provider: str) -> str:
        """Return a provider's base address for login backends.

        The address that is set for this provider comes first, then the general address, then the address for browsers.
        """
        general = f"{self.for_servers}/{provider}" if self.server_url else self.browser_base(provider)
        return self.server_urls.get(provider, general).rstrip("/")

    def issuer(self, provider: str) -> str:
        """Return a provider's issuer, which is the same for browsers and backends."""
        return self.issuers.get(provider, self.browser_base(provider))


def check_lab_token(token: str) -> None:
    """Refuse a token that could be guessed."""
    try:
        check_token(token)
    except ValueError as wrong:
        raise SettingsError(f"{TOKEN_VARIABLE} (not shown) {wrong}.") from None


def is_only_here(host: str, browser_url: str) -> bool:
    """Return whether the listening host and the address for browsers are both on this machine."""
    return is_loopback(host) and (not browser_url or is_loopback(urlsplit(browser_url).hostname or ""))


def check_addresses(option: str, general: str, by_provider: dict[str, str]) -> None:
    for name in by_provider:
        check_provider(option, name)
    for url in (*by_provider.values(), *filter(None, [general])):
        if not is_address(url):
            raise SettingsError(f"{option}: {shown(url)} is not an address; write it like http://127.0.0.1:9911.")


def shown(url: str) -> str:
    """Return an address for an error message. An address with a user name or password is hidden."""
    return "this" if "@" in url else repr(url)


def is_address(url: str) -> bool:
    """Return whether paths can be appended to this address.

    The address needs http or https and a host, and must not have a query or fragment.
    """
    return is_uri(url) and urlsplit(url).scheme in WEB and not {"?", "#"}.intersection(url)


def check_provider(what: str, name: str) -> None:
    if name not in NAMES:
        raise SettingsError(f"{what}: {name!r} is not a provider. Available: {', '.join(NAMES)}.")


def read_addresses(option: str, values: Iterable[str]) -> tuple[str, dict[str, str]]:
    """Split `http://…` and `google=http://…` into the general address and the addresses by provider.

    If a provider or the general address occurs twice, the last value wins.
    """
    general, by_provider = "", dict[str, str]()
    for value in values:
        name, equals, url = value.partition("=")
        if equals and "/" not in name:
            check_provider(option, name)
            by_provider[name] = url
        else:
            general = value
    return general, by_provider


def read_issuers(values: Iterable[str]) -> dict[str, str]:
    """Parse values such as `google=http://…` into issuers by provider."""
    general, issuers = read_addresses("--issuer", values)
    if general:
        raise SettingsError(
            f"--issuer: {shown(general)} does not name a provider; write it like google=http://127.0.0.1:9911."
        )
    return issuers


def read_claims(path: Path) -> dict[str, dict[str, Any]]:
    """Read a file of claims by account. Raises `SettingsError`, which names the file and the problem."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, Any]])
    except OSError as error:
        raise SettingsError(f"The claims file {path} cannot be read: {error.strerror}.") from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise SettingsError(
            f'The claims file {path} does not have the form {{"account": {{"claim": value}}}}: {error}'
        ) from error


def read_lifetimes(values: Iterable[str]) -> dict[str, int]:
    """Parse values such as `access=60`. Raises `SettingsError`."""
    lifetimes = dict[str, int]()
    for value in values:
        name, _, seconds = value.partition("=")
        lifetimes[name] = check_seconds("--lifetime", name, seconds)
    return lifetimes


def check_seconds(where: str, name: str, seconds: str) -> int:
    """Return the seconds of a lifetime. Raises `SettingsError`."""
    if name in LIFETIMES and seconds.isascii() and seconds.isdigit() and 0 < len(seconds) < 10:
        return int(seconds)
    given, known = f"{name}={seconds}" if seconds else name, ", ".join(LIFETIMES)
    raise SettingsError(f"{where}: {given!r} is not one of {known} with seconds; write it like access=60.")


def read_clients(path: Path) -> tuple[Client, ...]:
    """Read a JSON list of clients. Raises `SettingsError`, which names the file and the invalid member."""
    try:
        clients = msgspec.json.decode(path.read_bytes(), type=tuple[Client, ...])
        for number, client in enumerate(clients):
            check_provider(f"The clients file {path}, provider of entry {number}", client.provider)
            check_client(client)
    except OSError as error:
        raise SettingsError(f"The clients file {path} cannot be read: {error.strerror}.") from error
    except (msgspec.MsgspecError, ClientError) as error:
        raise SettingsError(f"The clients file {path} is not a list of clients: {error}") from error
    return clients
