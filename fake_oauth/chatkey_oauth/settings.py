"""What the fake provider is told from outside, checked before anything starts."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

import msgspec

from chatkey_oauth.engine.clients import Client, ClientError, check_client


class SettingsError(Exception):
    """A setting that cannot be used; the message names it, its value and what to write instead."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses, clients and switches.

    `browser_url` is the address browsers use, `server_url` the one a login backend uses; both default to where the
    fake listens. `issuers` replaces a provider's issuer, by provider name.
    """

    host: str = "127.0.0.1"
    port: int = 9911
    browser_url: str = ""
    server_url: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    lab: bool = False
    clients: tuple[Client, ...] = ()
    issuers: dict[str, str] = {}

    def __post_init__(self) -> None:
        if bool(self.tls_cert) != bool(self.tls_key):
            raise SettingsError("TLS needs both a certificate and a key: give --tls-cert and --tls-key, or neither.")
        if self.lab and not is_loopback(self.host):
            raise SettingsError(f"The lab is for this machine only: bind to 127.0.0.1 instead of {self.host!r}.")

    @property
    def listens_at(self) -> str:
        """The address of the listening socket."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls_cert else 'http'}://{host}:{self.port}"

    @property
    def for_browsers(self) -> str:
        """The base address browsers use, without a trailing slash."""
        return (self.browser_url or self.listens_at).rstrip("/")

    @property
    def for_servers(self) -> str:
        """The base address login backends use, without a trailing slash."""
        return (self.server_url or self.for_browsers).rstrip("/")


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address stays on this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def read_clients(path: Path) -> tuple[Client, ...]:
    """Read a JSON list of clients. Raises `SettingsError` naming the file and the member at fault."""
    try:
        clients = msgspec.json.decode(path.read_bytes(), type=tuple[Client, ...])
        for client in clients:
            check_client(client)
    except OSError as error:
        raise SettingsError(f"The clients file {path} cannot be read: {error.strerror}.") from error
    except (msgspec.MsgspecError, ClientError) as error:
        raise SettingsError(f"The clients file {path} is not a list of clients: {error}") from error
    return clients
