"""A certificate authority for one run, for clients that contain hard-coded https host names of providers."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from chatkey_oauth.by_host import every_name
from chatkey_oauth.settings import SettingsError


class Certified(NamedTuple):
    """The TLS context of the server, and the PEM file with the authority's certificate, which clients must trust."""

    context: ssl.SSLContext
    ca: Path


@contextmanager
def certified(host: str, ca: str) -> Iterator[Certified]:
    """Create an authority, and a certificate for `host` and every name of every provider.

    The authority's certificate is written to the file `ca`. If `ca` is empty, it is written to a folder that is deleted
    after the run. Both private keys stay in memory, so that nobody can use the authority later. Raises `SettingsError`
    if `ca` cannot be written.
    """
    authority = trustme.CA(organization_name="chatkey fake-oauth, one run")
    issued = authority.issue_cert("localhost", "127.0.0.1", "::1", host, *every_name())
    with TemporaryDirectory(prefix="chatkey-fake-oauth-") as folder:
        made = Certified(_context(issued, Path(folder, "chain.pem")), Path(ca or Path(folder, "ca.pem")))
        try:
            authority.cert_pem.write_to_path(made.ca)
        except OSError as error:
            raise SettingsError(f"--tls: {made.ca} cannot be written: {error.strerror}.") from error
        yield made


def _context(issued: trustme.LeafCert, file: Path) -> ssl.SSLContext:
    """Return a TLS context with a certificate and its key.

    `ssl` can only read a key from a file (https://github.com/python/cpython/issues/60691). Therefore the key is written
    in encrypted form, with a password that only this process knows. If the process is killed, the remaining file is
    useless.
    """
    password = secrets.token_bytes(32).hex().encode()
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))
    file.write_bytes(encrypted + b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, password=password)
    file.unlink()
    return context
