"""Starts a browser that trusts the same certificates and uses the same addresses as the checker."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.sync_api import Browser, Playwright, sync_playwright

from chatkey_check.target import BrowserMissing, Target
from chatkey_check.wire.http import CONNECT_SECONDS, HttpWire
from chatkey_stack import browsers


def launched(target: Target, wire: HttpWire, ending: ExitStack, *, headed: bool = False) -> Browser:
    """Start a browser. `ending` closes the browser. Raises `BrowserMissing` if no browser is found."""
    playwright = ending.enter_context(sync_playwright())
    found = _found(playwright)
    trusted = ",".join(sorted(_public_keys(target, wire))) or None
    arguments = (*browsers.ONE_COMPILER, *addresses(target))
    browser = browsers.launch(playwright, found, headed=headed, trusted_spki=trusted, args=arguments)
    ending.callback(browser.close)
    return browser


def _found(playwright: Playwright) -> browsers.Found:
    try:
        return browsers.find(browsers.machine(playwright, os.environ))
    except browsers.NoBrowserError as error:
        raise BrowserMissing(str(error)) from error


def addresses(target: Target) -> Iterator[str]:
    """Yield the browser argument that has the effect of --connect-to."""
    if target.connect_to:
        rules = (f"MAP {host} {f'[{to}]' if ':' in to else to}" for host, to in target.connect_to.items())
        yield f"--host-resolver-rules={','.join(rules)}"


def _public_keys(target: Target, wire: HttpWire) -> set[str]:
    """Return the hashes of the public keys of endpoint and service, after verifying the certificates with --ca."""
    if target.ca is None:
        return set()
    service = (target.live.service_url, target.live.sdk_url) if target.live else ()
    return {_public_key(wire, url) for url in (target.url, *service) if url and url.startswith("https:")}


def _public_key(wire: HttpWire, url: str) -> str:
    parts = urlsplit(url)
    with (
        socket.create_connection((wire.reach(url), parts.port or 443), CONNECT_SECONDS) as raw,
        wire.tls.wrap_socket(raw, server_hostname=parts.hostname) as line,
    ):
        certificate = x509.load_der_x509_certificate(line.getpeercert(binary_form=True) or b"")
    public = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(public).digest()).decode()
