"""Takes the client's address and scheme from the headers of trusted reverse proxies."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chatkey_serving.site import App, Receive, Scope, Send

Networks = tuple[IPv4Network | IPv6Network, ...]

_SCHEMES: Final = {b"http": ("http", "ws"), b"https": ("https", "wss"), b"ws": ("http", "ws"), b"wss": ("https", "wss")}
"""For each `X-Forwarded-Proto`, the scheme of requests and the scheme of sockets."""


class BehindProxies:
    """An ASGI application behind reverse proxies. `trusted` contains addresses and networks, separated by commas.

    The client is the last address in `X-Forwarded-For` that is not a trusted proxy. Addresses before it are claims of
    the client.
    """

    def __init__(self, app: App, trusted: str) -> None:
        self._app = app
        self._networks = networks_of(trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if client is not None and self._trusts(client[0]):
            self._read(scope)
        await self._app(scope, receive, send)

    def _read(self, scope: Scope) -> None:
        schemes = [_SCHEMES.get(value.strip()) for name, value in scope["headers"] if name == b"x-forwarded-proto"]
        if schemes and (scheme := schemes[-1]) is not None:
            scope["scheme"] = scheme[scope["type"] == "websocket"]
        values = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
        hosts = [_host(each.strip()) for each in ",".join(values).split(",")]
        client = next((host for host in reversed(hosts) if not self._trusts(host)), hosts[0])
        if client:
            scope["client"] = (client, 0)

    def _trusts(self, host: str) -> bool:
        return is_within(self._networks, host)


def networks_of(text: str) -> Networks:
    """Return the addresses and networks of a text, in which commas separate them."""
    return tuple(ip_network(each.strip()) for each in text.split(",") if each)


def is_within(networks: Networks, host: str) -> bool:
    """Return whether a host is an address in one of the networks. An IPv4-mapped address counts as the IPv4 address."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return any(one in network for network in networks for one in (address, mapped or address))


def _host(forwarded: str) -> str:
    """Return an address without its port."""
    if forwarded.startswith("["):
        return forwarded[1:].partition("]")[0]
    return forwarded.partition(":")[0] if forwarded.count(":") == 1 else forwarded
