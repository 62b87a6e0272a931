"""The configuration of the server as immutable values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from chatkey_protocol import limits
from chatkey_protocol.frames import IceServer
from chatkey_protocol.names import ANNOUNCED_SOCIALS, AVAILABLE_SOCIALS, SOCKET_PATH
from chatkey_serving.few_lines import PER_SECOND


class SocialAddress(msgspec.Struct, frozen=True):
    """The addresses of a social provider, for browsers and for this server, and the provider's issuer.

    If all are None, the provider's real hosts are used. Otherwise each address replaces all hosts of the provider; the
    paths stay the same.
    """

    browser_url: str | None = None
    server_url: str | None = None
    issuer: str | None = None


@dataclass(frozen=True, kw_only=True)
class Limits(limits.Limits):
    """The limits for one peer. Rates are per minute, and stored amounts are per day."""

    head_bytes: int = 64 * 1024
    request_timeout: int = 20
    searches_per_identity: int = 60
    searches_per_address: int = 600
    histories_per_identity: int = 240
    histories_per_address: int = 12_000
    messages_per_identity: int = 2400
    messages_per_address: int = 480_000
    messages_per_provider: int = 2_400_000
    kilobytes_per_identity: int = 4000
    kilobytes_per_address: int = 96_000
    kilobytes_per_provider: int = 1_200_000
    ipv6_prefix: int = 64
    log_lines: int = PER_SECOND


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    base_url: str = "http://localhost:8800"
    assets_url: str = ""
    previous_assets: str = ""
    host: str = "127.0.0.1"
    port: int = 8800
    tls_cert: str = ""
    tls_key: str = ""
    trusted_proxies: str = ""
    data_dir: Path = Path(".chatkey")
    database_url: str = ""
    redis_url: str = ""
    master_key: tuple[str, ...] = ()
    ca_file: str = ""
    panel_frame_ancestors: str = "'none'"
    lab: bool = False
    lab_token: str = ""
    preview_providers: tuple[str, ...] = ()
    ice_servers: tuple[IceServer, ...] = ()
    ice_relay_only: bool = False
    log_level: str = "info"
    metrics_token: str = ""
    drain: int = 0
    limits: Limits = Limits()
    socials: dict[str, SocialAddress] = {}

    @property
    def socket_uri(self) -> str:
        """The socket's address for browsers (D-10)."""
        scheme, _, rest = self.base_url.partition("://")
        return f"{'wss' if scheme == 'https' else 'ws'}://{rest}{SOCKET_PATH}"

    @property
    def assets(self) -> str:
        """The address under which browsers find `sdk.js`."""
        return self.assets_url or f"{self.base_url}/assets"

    @property
    def lab_opens_panel(self) -> bool:
        """Whether the agent panel opens without a password.

        It does if pages on this machine may use the lab without a token.
        """
        return self.lab and not self.lab_token

    @property
    def offered_socials(self) -> tuple[str, ...]:
        """The social providers that a business can enable here, in the order of the login page (contract 4.4)."""
        return (*AVAILABLE_SOCIALS, *(social for social in ANNOUNCED_SOCIALS if social in self.preview_providers))

    @property
    def database(self) -> str:
        """The database's URL, by default that of an SQLite file in the data folder."""
        return self.database_url or f"sqlite:///{self.data_dir / 'chatkey.sqlite'}"

    def __repr__(self) -> str:
        return f"Settings(base_url={self.base_url!r}, …)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("base_url", self.base_url)]
