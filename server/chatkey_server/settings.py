"""The server's settings, read from `CHATKEY_*` and checked before anything starts."""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from chatkey_lab.guard import TOKEN_VARIABLE, check_token
from chatkey_protocol.names import ANNOUNCED_SOCIALS, AVAILABLE_SOCIALS, SOCIALS, SOCKET_PATH
from chatkey_server.identity.origins import is_loopback_host
from chatkey_server.identity.tokens import MAX_TOKEN_BYTES

PREFIX = "CHATKEY_"
OTHERS = ("CHATKEY_BROWSER", "CHATKEY_PATIENCE", "CHATKEY_E2E_", "CHATKEY_DEMO_")
"""Variables, and beginnings of variables, that belong to the other components."""

MASTER_KEY_CHARS = 32

TOGETHER = " Of all processes together, where there is Redis."
"""Of a limit that protects the service as a whole; every other one is counted by each process."""

HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")


class SettingsError(Exception):
    """A setting that cannot be used; the message names the variable, its value and what to write instead."""


class SocialAddress(msgspec.Struct, frozen=True):
    """Where a social provider is: for browsers, for this server, and under which issuer it signs.

    All None means the real provider at its real hosts. Set, they are base addresses under which all hosts of that
    provider are folded together with unchanged paths.
    """

    browser_url: str | None = None
    server_url: str | None = None
    issuer: str | None = None


class Limits(msgspec.Struct, frozen=True):
    """How much one peer may ask for. Rates are per minute, what may be stored is per day; 0 is no limit."""

    head_bytes: int = 64 * 1024
    query_bytes: int = 16 * 1024
    body_bytes: int = 64 * 1024
    token_bytes: int = MAX_TOKEN_BYTES
    request_timeout: int = 20
    token_rate: int = 600
    oauth_rate: int = 60
    frame_bytes: int = 64 * 1024
    message_chars: int = 4000
    name_chars: int = 255
    frames_per_second: int = 20
    auth_timeout: int = 10
    frame_timeout: int = 20
    idle_timeout: int = 180
    pong_timeout: int = 20
    ping: int = 25
    sockets_per_address: int = 1000
    sockets_per_identity: int = 50
    search_chars: int = 100
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


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the server is told from outside."""

    base_url: str = "http://localhost:8800"
    assets_url: str = ""
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
        """Whether the agent panel opens without a password: where a page of this machine may use the lab."""
        return self.lab and not self.lab_token

    @property
    def offered_socials(self) -> tuple[str, ...]:
        """The social providers a business can enable on this server, in the order of the login page (contract 4.4)."""
        return (*AVAILABLE_SOCIALS, *(social for social in ANNOUNCED_SOCIALS if social in self.preview_providers))

    @property
    def database(self) -> str:
        """The database's URL; an SQLite file in the data folder unless another is set."""
        return self.database_url or f"sqlite:///{self.data_dir / 'chatkey.sqlite'}"

    def __repr__(self) -> str:
        return f"Settings(base_url={self.base_url!r}, …)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("base_url", self.base_url)]


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable: how its text is read, what it means, and whether its value may be shown.

    `parse` raises ValueError with a clause that says what is wrong and what to write ("is not …; write …").
    """

    name: str
    parse: Callable[[str], object]
    help: str
    secret: bool = False

    @property
    def field(self) -> str:
        """The field of `Settings`, `Limits` or `SocialAddress` that it fills."""
        return self.name.removeprefix(PREFIX).removeprefix("LIMIT_").lower()

    @property
    def default(self) -> str:
        """The default as one would write it; empty when there is none."""
        if self.name.startswith(f"{PREFIX}LIMIT_"):
            return str(getattr(Limits(), self.field))
        value = getattr(Settings(), self.field, "")
        return "0" if value is False else str(value or "")


def _address(text: str, *, path: bool, insecure: bool = False) -> str:
    """Read an http(s) address, optionally with a path and never ending in a slash."""
    example = "https://chat.example" + ("/path" if path else "")
    if not text.startswith(("https://", "http://")):
        raise ValueError(f"is not an http or https address; write one such as {example}")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"is not an address ({error}); write one such as {example}") from None
    host = parts.netloc.lower().rpartition("@")[2].removesuffix(f":{port}")
    if not HOST.fullmatch(host):
        raise ValueError(f"has no usable host name; write one such as {example}")
    shown_port = "" if port in {None, {"https": 443, "http": 80}[parts.scheme]} else f":{port}"
    clean = f"{parts.scheme}://{host}{shown_port}{parts.path.rstrip('/') if path else ''}"
    if text != clean:
        raise ValueError(f"has more than {'an address' if path else 'scheme, host and port'}; write {clean}")
    if parts.scheme == "http" and not insecure and not is_loopback_host(host):
        raise ValueError(f"is plain http, which browsers only trust on localhost; write https://{host}{shown_port}")
    return clean


def _whole(text: str, *, least: int, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
        raise ValueError(f"is not a whole number from {least} to {most}")
    return int(text)


def _switch(text: str) -> bool:
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("is neither on nor off; write 1 or 0")


def _file(text: str) -> str:
    if not Path(text).is_file():
        raise ValueError("is not a file that exists; write the path of a PEM file")
    return text


def _authorities(text: str) -> str:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(_file(text))
    except OSError:  # ssl.SSLError is one
        raise ValueError("holds no certificates; write the path of a PEM file with certificates") from None
    return text


def _database(text: str) -> str:
    if text.startswith(("postgresql://", "postgres://")):
        return text
    if text.startswith("sqlite:///") and len(text) > len("sqlite:///"):
        return text
    raise ValueError(
        "is not a database address; write postgresql://user:password@host/database or sqlite:///path/to/file"
    )


def _redis(text: str) -> str:
    if not text.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("is not a Redis address; write redis://host:6379/0")
    return text


def _master_keys(text: str) -> tuple[str, ...]:
    keys = tuple(key.strip() for key in text.split(","))
    for number, key in enumerate(keys, 1):
        if len(key) < MASTER_KEY_CHARS:
            raise ValueError(
                f"has {len(key)} characters in key {number}, where at least {MASTER_KEY_CHARS} are needed; "
                "write long random keys with commas between them, the current one first"
            )
    return keys


def _frame_ancestors(text: str) -> str:
    sources = text.split()
    if not all(re.fullmatch(r"'none'|'self'|https?://[a-z0-9.:\[\]-]+", source) for source in sources):
        raise ValueError("is not a list of origins; write 'none', 'self' or origins with spaces between them")
    return " ".join(sources)


def _host(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9.:-]+", text):
        raise ValueError("is not an address to listen on; write one such as 127.0.0.1 or 0.0.0.0")
    return text


def _networks(text: str) -> str:
    networks = [part.strip() for part in text.split(",")]
    for network in networks:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            raise ValueError(
                f"holds {network!r}, which is no address or network; write such as 10.0.0.7 or 10.0.0.0/8, "
                "with commas between them"
            ) from None
    return ",".join(networks)


def _announced(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not set(names) <= set(ANNOUNCED_SOCIALS):
        raise ValueError(
            f"names a provider that is not announced; write names of {', '.join(ANNOUNCED_SOCIALS)} "
            "with commas between them"
        )
    return names


def _log_level(text: str) -> str:
    if text.lower() not in {"debug", "info", "warning", "error"}:
        raise ValueError("is not a level; write debug, info, warning or error")
    return text.lower()


def _general() -> Iterator[Setting]:
    yield Setting("CHATKEY_BASE_URL", partial(_address, path=False), "The address of this server for browsers.")
    yield Setting(
        "CHATKEY_ASSETS_URL", partial(_address, path=True), "The address of `sdk.js`, unless it is `/assets` here."
    )
    yield Setting("CHATKEY_HOST", _host, "The network address to listen on.")
    yield Setting("CHATKEY_PORT", partial(_whole, least=1, most=65535), "The port to listen on.")
    yield Setting("CHATKEY_TLS_CERT", _file, "The certificate chain, when the server speaks TLS itself.")
    yield Setting("CHATKEY_TLS_KEY", _file, "The certificate's private key.")
    yield Setting(
        "CHATKEY_TRUSTED_PROXIES",
        _networks,
        "Addresses and networks of reverse proxies, with commas between them: their `X-Forwarded-For` says whom limits "
        "are counted for. Without it that is the proxy, as one caller.",
    )
    yield Setting("CHATKEY_DATA_DIR", Path, "The folder of the embedded database and of the generated master key.")
    yield Setting(
        "CHATKEY_DATABASE_URL", _database, "The database, unless it is the embedded SQLite file.", secret=True
    )
    yield Setting(
        "CHATKEY_REDIS_URL",
        _redis,
        "Redis, for fan-out between several processes or hosts, and for limits that they count together.",
        secret=True,
    )
    yield Setting(
        "CHATKEY_MASTER_KEY",
        _master_keys,
        "The key all others are derived from; old ones, still readable, follow after commas.",
        secret=True,
    )
    yield Setting("CHATKEY_CA_FILE", _authorities, "Certificates to trust when the server calls social providers.")
    yield Setting("CHATKEY_PANEL_FRAME_ANCESTORS", _frame_ancestors, "The origins that may frame the agent panel.")
    yield Setting(
        "CHATKEY_LAB",
        _switch,
        "Switches the test controls under `/lab` on; on a loopback address only, or with `CHATKEY_LAB_TOKEN`.",
    )
    yield Setting(
        TOKEN_VARIABLE,
        check_token,
        "What whoever uses the lab has to show: a bearer, or the password of HTTP's basic authentication.",
        secret=True,
    )
    yield Setting(
        "CHATKEY_PREVIEW_PROVIDERS",
        _announced,
        f"Announced social providers to offer already, with commas between them: {', '.join(ANNOUNCED_SOCIALS)}.",
    )
    yield Setting(
        "CHATKEY_METRICS_TOKEN",
        check_token,
        "What Prometheus shows as a bearer to read `/metrics`; without it there are none.",
        secret=True,
    )
    yield Setting(
        "CHATKEY_DRAIN",
        partial(_whole, least=0, most=3600),
        "Seconds that an end takes: in the first half `/health/ready` says 503 and all is served as before, in the "
        "second nobody is let in and sockets are closed one after the other.",
    )
    yield Setting("CHATKEY_LOG_LEVEL", _log_level, "How much is logged: debug, info, warning or error.")


def _limits() -> Iterator[Setting]:
    rate, size = partial(_whole, least=0, most=1_000_000), partial(_whole, least=1, most=1_000_000)
    wait = partial(_whole, least=1, most=3600)
    yield Setting(
        "CHATKEY_LIMIT_HEAD_BYTES",
        partial(_whole, least=16_384, most=1_048_576),
        "Bytes of a request's line and headers.",
    )
    yield Setting(
        "CHATKEY_LIMIT_QUERY_BYTES", partial(_whole, least=2048, most=65_000), "Bytes of a query; of a form as well."
    )
    yield Setting(
        "CHATKEY_LIMIT_BODY_BYTES", partial(_whole, least=16_384, most=16_777_216), "Bytes of a request's body."
    )
    yield Setting(
        "CHATKEY_LIMIT_TOKEN_BYTES",
        partial(_whole, least=1024, most=32_768),
        "Bytes of one token; the widget itself sends 8192 at most.",
    )
    yield Setting(
        "CHATKEY_LIMIT_REQUEST_TIMEOUT",
        wait,
        "Seconds a request may take to arrive, from the opening of the connection or from its own first byte, "
        "and its answer may wait for a peer that takes nothing of it.",
    )
    yield Setting("CHATKEY_LIMIT_TOKEN_RATE", rate, "Token requests a minute from one client address; 0 is no limit.")
    yield Setting(
        "CHATKEY_LIMIT_OAUTH_RATE", rate, f"OAuth requests a minute from one client address; 0 is no limit.{TOGETHER}"
    )
    yield Setting("CHATKEY_LIMIT_FRAME_BYTES", partial(_whole, least=16_384, most=1_048_576), "Bytes of one frame.")
    yield Setting("CHATKEY_LIMIT_MESSAGE_CHARS", size, "Characters of one message.")
    yield Setting("CHATKEY_LIMIT_NAME_CHARS", partial(_whole, least=1, most=255), "Characters of a member's name.")
    yield Setting("CHATKEY_LIMIT_FRAMES_PER_SECOND", size, "Frames a second on one socket.")
    yield Setting(
        "CHATKEY_LIMIT_AUTH_TIMEOUT", partial(_whole, least=1, most=60), "Seconds a new socket has to prove itself."
    )
    yield Setting(
        "CHATKEY_LIMIT_FRAME_TIMEOUT", wait, "Seconds a frame may take to arrive, from its first byte to its last."
    )
    yield Setting("CHATKEY_LIMIT_IDLE_TIMEOUT", wait, "Seconds a connected socket may stay without a frame.")
    yield Setting(
        "CHATKEY_LIMIT_PONG_TIMEOUT",
        wait,
        "Seconds between the server's WebSocket pings, and those a peer has to answer one or to read what it is sent.",
    )
    yield Setting("CHATKEY_LIMIT_PING", partial(_whole, least=1, most=300), "Seconds between the pings of a widget.")
    yield Setting(
        "CHATKEY_LIMIT_SOCKETS_PER_ADDRESS", rate, "Sockets open at once from one client address; 0 is no limit."
    )
    yield Setting("CHATKEY_LIMIT_SOCKETS_PER_IDENTITY", rate, "Sockets open at once of one person; 0 is no limit.")
    yield Setting(
        "CHATKEY_LIMIT_SEARCH_CHARS", partial(_whole, least=1, most=1000), "Characters of what is searched for."
    )
    yield Setting("CHATKEY_LIMIT_SEARCHES_PER_IDENTITY", rate, "Searches a minute of one person; 0 is no limit.")
    yield Setting(
        "CHATKEY_LIMIT_SEARCHES_PER_ADDRESS", rate, "Searches a minute from one client address; 0 is no limit."
    )
    yield Setting(
        "CHATKEY_LIMIT_HISTORIES_PER_IDENTITY", rate, "Pages of history a minute of one person; 0 is no limit."
    )
    yield Setting(
        "CHATKEY_LIMIT_HISTORIES_PER_ADDRESS", rate, "Pages of history a minute from one client address; 0 is no limit."
    )
    yield from _quotas()
    yield Setting(
        "CHATKEY_LIMIT_IPV6_PREFIX",
        partial(_whole, least=32, most=128),
        "Bits of an IPv6 address that make a client: what comes from one network of this size is counted together.",
    )


def _quotas() -> Iterator[Setting]:
    amount = partial(_whole, least=0, most=999_999_999)
    for name, what in (("MESSAGES", "Messages and calls"), ("KILOBYTES", "Kilobytes of messages")):
        for of, whose in (
            ("IDENTITY", "of one person"),
            ("ADDRESS", "from one client address"),
            ("PROVIDER", "of a business's visitors, and again of its members"),
        ):
            yield Setting(
                f"CHATKEY_LIMIT_{name}_PER_{of}",
                amount,
                f"{what} a day {whose}, an hour's worth of them at once; 0 is no limit.{TOGETHER}",
            )


def _socials() -> Iterator[Setting]:
    for social in SOCIALS:
        start = f"{PREFIX}{social.upper()}"
        yield Setting(
            f"{start}_BROWSER_URL", partial(_address, path=True), f"Where browsers find {social}, if not the real one."
        )
        yield Setting(
            f"{start}_SERVER_URL",
            partial(_address, path=True, insecure=True),
            f"Where this server finds {social}, if not the real one.",
        )
        yield Setting(
            f"{start}_ISSUER", partial(_address, path=True, insecure=True), f"The issuer in the id_tokens of {social}."
        )


SETTINGS: tuple[Setting, ...] = (*_general(), *_limits(), *_socials())
"""Every setting there is, in the order of the documentation."""


def load(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read and check the settings; an empty variable counts as not set.

    Raises `SettingsError` naming the first variable that is wrong.
    """
    _refuse_unknown(environ)
    read = {setting.name: _read(setting, environ[setting.name]) for setting in SETTINGS if environ.get(setting.name)}
    settings = msgspec.convert(
        {
            **_members(read, Settings),
            "limits": _members(read, Limits, "LIMIT_"),
            "socials": {
                social: members
                for social in SOCIALS
                if (members := _members(read, SocialAddress, f"{social.upper()}_"))
            },
        },
        Settings,
    )
    if not environ.get("CHATKEY_BASE_URL"):
        scheme = "https" if settings.tls_cert else "http"
        settings = msgspec.structs.replace(settings, base_url=f"{scheme}://localhost:{settings.port}")
    _check_together(settings)
    return settings


def _members(read: Mapping[str, object], struct: type[msgspec.Struct], start: str = "") -> dict[str, object]:
    """Return the values that were read for the fields of one Struct."""
    names = {f"{PREFIX}{start}{field.name.upper()}": field.name for field in msgspec.structs.fields(struct)}
    return {names[name]: value for name, value in read.items() if name in names}


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    known = [setting.name for setting in SETTINGS]
    for name in environ:
        if not name.startswith(PREFIX) or name in known or name.startswith(OTHERS):
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "remove it, or look the name up in the list of settings"
        raise SettingsError(f"{name} is not a setting: {hint}")


def _read(setting: Setting, text: str) -> object:
    try:
        return setting.parse(text)
    except ValueError as error:
        shown = "(not shown)" if setting.secret or "@" in text else repr(text)
        raise SettingsError(f"{setting.name} {shown} {error}") from None


def _check_together(settings: Settings) -> None:
    """Refuse what is only wrong in combination (D-14, D-15)."""
    if bool(settings.tls_cert) != bool(settings.tls_key):
        missing = "CHATKEY_TLS_KEY" if settings.tls_cert else "CHATKEY_TLS_CERT"
        raise SettingsError(f"{missing} is not set, but its other half is; set both, or none to serve without TLS")
    if settings.lab_opens_panel:
        _check_only_here(settings)
    shared = settings.redis_url or settings.database_url.startswith("postgres")
    if shared and not settings.master_key:
        raise SettingsError(
            "CHATKEY_MASTER_KEY is not set, but a database or Redis that several processes share is; write one random "
            f"key of at least {MASTER_KEY_CHARS} characters, the same for all of them"
        )


def _check_only_here(settings: Settings) -> None:
    """Refuse a lab without a token that others could reach, directly or through a proxy (D-14)."""
    if not is_loopback_host(settings.host):
        raise SettingsError(
            f"CHATKEY_LAB '1' opens test controls to anyone, and CHATKEY_HOST {settings.host!r} is not a loopback "
            f"address; write CHATKEY_HOST=127.0.0.1, set {TOKEN_VARIABLE}, or leave CHATKEY_LAB out"
        )
    if not is_loopback_host(urlsplit(settings.base_url).hostname or ""):
        raise SettingsError(
            f"CHATKEY_LAB '1' opens test controls to anyone, and CHATKEY_BASE_URL {settings.base_url!r} is not a "
            f"loopback address; set {TOKEN_VARIABLE}, or leave CHATKEY_LAB out"
        )
