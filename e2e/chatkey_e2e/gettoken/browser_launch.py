"""Starts a browser that trusts and reaches what the checker trusts and reaches."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.sync_api import Browser, Playwright, sync_playwright

from chatkey_demo import browsers
from chatkey_e2e.gettoken.target import OptionError, Target
from chatkey_e2e.gettoken.wire import CONNECT_SECONDS, HttpWire


def launched(target: Target, wire: HttpWire, ending: ExitStack, *, headed: bool = False) -> Browser:
    """Start a browser, which ends with `ending`. Raises `OptionError` where there is none."""
    playwright = ending.enter_context(sync_playwright())
    found = _found(playwright)
    spki = _public_key(target, wire) if target.ca and target.url.startswith("https:") else None
    arguments = (*browsers.ONE_COMPILER, *_addresses(target))
    browser = browsers.launch(playwright, found, headed=headed, trusted_spki=spki, args=arguments)
    ending.callback(browser.close)
    return browser


def _found(playwright: Playwright) -> browsers.Found:
    try:
        return browsers.find(browsers.machine(playwright, os.environ))
    except browsers.NoBrowserError as error:
        raise OptionError(str(error)) from error


def _addresses(target: Target) -> Iterator[str]:
    """`localhost` and names below it are this machine for every browser."""
    if target.connect_to:
        yield "--host-resolver-rules=" + ",".join(f"MAP {host} {to}" for host, to in target.connect_to.items())


def _public_key(target: Target, wire: HttpWire) -> str:
    """Return the hash of the public key that the endpoint shows, and that the checker has verified (--ca)."""
    address = (wire.reach(target.url), target.port)
    with (
        socket.create_connection(address, CONNECT_SECONDS) as raw,
        wire.tls.wrap_socket(raw, server_hostname=target.host) as line,
    ):
        certificate = x509.load_der_x509_certificate(line.getpeercert(binary_form=True) or b"")
    public = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(public).digest()).decode()
