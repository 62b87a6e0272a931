"""Parses the variables. A parser raises ValueError with a clause that says what is wrong and what to write.

The clause never quotes the value, because the value may be a secret that was set in the wrong variable.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, urlsplit

import msgspec

from chatkey_protocol.frames import IceServer
from chatkey_protocol.names import ANNOUNCED_SOCIALS
from chatkey_server.identity.origins import is_loopback_host

MASTER_KEY_CHARS = 32

HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")
STORE_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\[\]:@]*)(?::([0-9]{1,5}))?")
"""A host, which may be empty for the default, and its port."""
_ICE_EXAMPLE = 'set it to an array such as [{"urls": ["stun:stun.example:3478"]}]'
SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
"""The SSL modes of libpq and asyncpg (PostgreSQL manual, 32.19.3)."""


def address(text: str, *, path: bool, insecure: bool = False) -> str:
    """Read an http(s) address, optionally with a path. The result never ends with a slash."""
    example = "https://chat.example" + ("/path" if path else "")
    if not text.startswith(("https://", "http://")):
        raise ValueError(f"is not an http or https address; set it to an address such as {example}")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(
            f"is not an address with a valid host and port; set it to an address such as {example}"
        ) from None
    host = parts.netloc.lower().rpartition("@")[2].removesuffix(f":{port}")
    if not HOST.fullmatch(host):
        raise ValueError(f"has no valid host name; set it to an address such as {example}")
    shown_port = "" if port in {None, {"https": 443, "http": 80}[parts.scheme]} else f":{port}"
    clean = f"{parts.scheme}://{host}{shown_port}{parts.path.rstrip('/') if path else ''}"
    if text != clean:
        raise ValueError(
            f"has more than {'an address' if path else 'scheme, host and port'}, or capital letters, or the "
            f"default port; set it to an address such as {example}"
        )
    if parts.scheme == "http" and not insecure and not is_loopback_host(host):
        raise ValueError(
            f"is plain http, which browsers trust only on localhost; set it to an address such as {example}"
        )
    return clean


def whole(text: str, *, least: int, most: int) -> int:
    """Read an integer, written in decimal digits."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
        raise ValueError(f"is not a whole number from {least} to {most}")
    return int(text)


def switch(text: str) -> bool:
    """Read an on/off value."""
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("is neither on nor off; set it to 1 or 0")


def file(text: str) -> str:
    """Read the path of a file that exists."""
    try:
        is_file = Path(text).is_file()
    except OSError:  # the name is too long, or a folder in the path cannot be entered
        is_file = False
    if not is_file:
        raise ValueError("is not a file that exists; set it to the path of a PEM file")
    return text


def authorities(text: str) -> str:
    """Read the path of a PEM file with CA certificates."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file(text))
    except OSError:  # ssl.SSLError is an OSError
        raise ValueError("contains no certificates; set it to the path of a PEM file with certificates") from None
    return text


def database(text: str) -> str:
    """Read the URL of a database. Whether the database responds is checked when the server starts."""
    example = "postgresql://user:password@host:5432/database"
    if text.startswith("sqlite:///") and len(text) > len("sqlite:///"):
        return text
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError(f"is not a database address; set it to {example} or sqlite:///path/to/file")
    query = dict(parse_qsl(_store(text, example).query))
    if query.get("sslmode", "prefer") not in SSL_MODES:
        raise ValueError(f"has an sslmode that does not exist; use one of {', '.join(SSL_MODES)}")
    return text


def redis(text: str) -> str:
    example = "redis://user:password@host:6379/0"
    if text.startswith("unix://"):
        return text
    if text.startswith("redis+sentinel://"):
        example = "redis+sentinel://user:password@host:26379,host:26379/service/0"
        if not re.fullmatch("/[A-Za-z0-9._-]+(/[0-9]{0,9})?", _store(text, example).path):
            raise ValueError(f"does not end with the name of Sentinel's service; write it as {example}")
        return text
    if not text.startswith(("redis://", "rediss://")):
        raise ValueError("is not a Redis address; set it to redis://host:6379/0")
    if not re.fullmatch("/?[0-9]{0,9}", _store(text, example).path):
        raise ValueError(f"does not end with the number of a database; set it to an address such as {example}")
    return text


def _store(text: str, example: str) -> SplitResult:
    """Split the URL of a database or Redis. Raises ValueError if drivers would interpret the URL differently."""
    unreadable = ValueError(
        f"cannot be read as an address; write it as {example}. In user and password, write %2F for /, %23 for "
        "#, %3F for ? and %40 for @; write the port in digits"
    )
    try:
        parts = urlsplit(text)
        parse_qsl(parts.query, strict_parsing=bool(parts.query))
    except ValueError:
        raise unreadable from None
    hosts = [STORE_HOST.fullmatch(host) for host in parts.netloc.rpartition("@")[2].split(",")]
    ports_exist = all(host and 0 < int(host[1] or 1) < 65536 for host in hosts)
    if not ports_exist or text.count("@") != parts.netloc.count("@") or text.count("@") > 1 or "#" in text:
        raise unreadable
    return parts


def master_keys(text: str) -> tuple[str, ...]:
    """Read comma-separated keys, the current one first."""
    keys = tuple(key.strip() for key in text.split(","))
    for number, key in enumerate(keys, 1):
        if len(key) < MASTER_KEY_CHARS:
            raise ValueError(
                f"has {len(key)} characters in key {number}, but at least {MASTER_KEY_CHARS} are required; set it to "
                "long random keys with commas between them, the current one first"
            )
    return keys


def frame_ancestors(text: str) -> str:
    """Read the sources of the `frame-ancestors` directive of a CSP."""
    sources = text.split()
    if not all(re.fullmatch(r"'none'|'self'|https?://[a-z0-9.:\[\]-]+", source) for source in sources):
        raise ValueError("is not a list of origins; set it to 'none', 'self' or origins with spaces between them")
    return " ".join(sources)


def host(text: str) -> str:
    """Read the address to listen on."""
    if not re.fullmatch(r"[A-Za-z0-9.:-]+", text):
        raise ValueError("is not an address to listen on; set it to an address such as 127.0.0.1 or 0.0.0.0")
    return text


def networks(text: str) -> str:
    """Read comma-separated addresses and networks."""
    networks = [part.strip() for part in text.split(",")]
    for number, network in enumerate(networks, 1):
        try:
            ipaddress.ip_network(network)
        except ValueError:
            raise ValueError(
                f"has something other than an address or network at position {number}; use values such as 10.0.0.7 or "
                "10.0.0.0/8, with commas between them"
            ) from None
    return ",".join(networks)


def announced(text: str) -> tuple[str, ...]:
    """Read the comma-separated names of social providers that are announced but not available yet."""
    names = tuple(name.strip() for name in text.split(","))
    if not set(names) <= set(ANNOUNCED_SOCIALS):
        raise ValueError(
            f"names a provider that is not announced; use names from {', '.join(ANNOUNCED_SOCIALS)} with commas "
            "between them"
        )
    return names


def ice_servers(text: str) -> tuple[IceServer, ...]:
    """Read STUN and TURN servers, written as the JSON of `RTCPeerConnection`'s `iceServers`."""
    try:
        servers = msgspec.json.decode(text, type=tuple[IceServer, ...])
    except msgspec.MsgspecError:
        raise ValueError(f"is not a JSON array of servers; {_ICE_EXAMPLE}") from None
    urls = [url for server in servers for url in server["urls"]]
    if not all(re.fullmatch(r"(?:stuns?|turns?):[A-Za-z0-9.:\[\]-]+(?:\?transport=(?:udp|tcp))?", url) for url in urls):
        raise ValueError(f"has an address that is not stun:, stuns:, turn: or turns: with a host; {_ICE_EXAMPLE}")
    return servers


def log_level(text: str) -> str:
    """Read the name of a log level, in upper or lower case."""
    if text.lower() not in {"debug", "info", "warning", "error"}:
        raise ValueError("is not a log level; set it to debug, info, warning or error")
    return text.lower()
