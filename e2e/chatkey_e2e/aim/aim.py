"""A target for the browser scenarios: its capabilities, the addresses for browsers, and the ports of the servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from chatkey_conform.grades.business import Businesses
from chatkey_conform.grades.opening import businesses_of, capabilities_of
from chatkey_conform.target import Target, read_target
from chatkey_stack.ports import LOOPBACK, free_ports
from chatkey_stack.tls import Certificates, spki_of

OF_OUR_WIDGET: Final = frozenset(("widget-events", "widget-texts", "widget-languages"))
"""Capabilities of our own widget. They apply unless the target brings a widget of its own."""

OF_THE_FRONT: Final = frozenset(("faults",))
"""Capabilities that the harness's front proxy provides for any service, so that the service need not have them."""

PORTS: Final = {"https": 443, "http": 80}


@dataclass(frozen=True)
class Aim:
    """A target, the grade that creates its businesses, and the ports of the servers in front of the target."""

    target: Target
    businesses: Businesses
    have: frozenset[str]
    front_port: int
    control_port: int
    assets_port: int
    sites: dict[str, int]
    """The local port of the shop site for each origin."""
    social_url: str
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    """The target's known failures: the reason by name."""

    @property
    def name(self) -> str:
        return self.target.name

    @property
    def selectors(self) -> Mapping[str, str]:
        """The selectors of the target's own widget."""
        return self.target.document.widget.selectors if self.target.document.widget else {}

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins of the shops. The first origin is the address of the site itself."""
        return tuple(self.sites)

    @property
    def script_url(self) -> str:
        """The address from which pages load the widget's script."""
        widget, assets = self.target.document.widget, self.target.service.assets_url.rstrip("/")
        if widget and widget.script_url:
            return widget.script_url
        return f"{assets or f'{self.target.base_url}/assets'}/sdk.js"

    @property
    def brings_files(self) -> bool:
        """Whether the harness serves our own widget files. It does if the target names no widget script."""
        widget = self.target.document.widget
        return not self.target.service.assets_url and not (widget and widget.script_url)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that the run's certificate must cover."""
        addresses = (self.target.base_url, self.social_url, *self.origins)
        return tuple(dict.fromkeys(urlsplit(address).hostname or "" for address in addresses))

    @property
    def browser_args(self) -> tuple[str, ...]:
        """Chromium arguments that map the service's host to the front and the shops' hosts to the site, without DNS."""
        rules = ",".join(
            f"MAP {host}:{port} {LOOPBACK}:{real}"
            for host, port, real in self._led()
            if (host, port) != (LOOPBACK, real)
        )
        return (f"--host-resolver-rules={rules}",)

    @property
    def trusted_spki(self) -> tuple[str, ...]:
        """Public key hashes of certificates that browsers must trust in addition to the run's own."""
        certificate = self.target.document.social.tls_cert
        return (spki_of((self.target.folder / certificate).read_bytes()),) if certificate else ()

    def trusting(self, certificates: Certificates) -> Certificates:
        """Return the run's certificates. The target's own CA is added to the CA file."""
        if self.target.ca_file is None:
            return certificates
        both = certificates.ca.with_name("both.pem")
        both.write_bytes(certificates.ca.read_bytes() + b"\n" + self.target.ca_file.read_bytes())
        return replace(certificates, ca=both)

    def _led(self) -> Iterator[tuple[str, int, int]]:
        for address, real in ((self.target.base_url, self.front_port), *self.sites.items()):
            split = urlsplit(address)
            yield split.hostname or "", split.port or PORTS[split.scheme], real


def take_aim(path: Path) -> Aim:
    """Read a TARGET.toml and query the target's capabilities. Raises `TargetError` and `HarnessError`."""
    target = read_target(path)
    known = target.known_failures()
    businesses = businesses_of(target)
    has = capabilities_of(target, businesses) | OF_THE_FRONT
    if target.document.widget is None:
        has |= OF_OUR_WIDGET
    prepared = dict.fromkeys(origin for business in businesses.prepared() for origin in business.origins)
    front_port, control_port, assets_port, social_port, *ports = free_ports(4 + max(1, len(prepared)))
    scheme = urlsplit(target.base_url).scheme
    origins = tuple(prepared) or (f"{scheme}://shop.localhost:{ports[0]}",)
    return Aim(
        target=target,
        businesses=businesses,
        have=has,
        front_port=front_port,
        control_port=control_port,
        assets_port=assets_port,
        sites=dict(zip(origins, ports, strict=True)),
        social_url=target.document.social.url.rstrip("/") or f"{scheme}://id.localhost:{social_port}",
        known=known,
    )
