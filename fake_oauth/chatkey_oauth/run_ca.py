"""A certificate authority that lives as long as one run, for clients that speak https and know their hosts by heart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import trustme

from chatkey_oauth.by_host import every_name
from chatkey_oauth.settings import SettingsError


class Certified(NamedTuple):
    """Files of PEM: the certificate chain and the key to serve with, and the authority's certificate to trust."""

    chain: Path
    key: Path
    ca: Path


@contextmanager
def certified(host: str, ca: str) -> Iterator[Certified]:
    """Make an authority, and by it a certificate for every name of every provider and for `host`.

    `ca` is where its certificate is to be written; empty: into a folder that is gone after the run. Nobody ever has the
    authority's key, so that trusting it opens nothing else. Raises `SettingsError` where `ca` cannot be written.
    """
    authority = trustme.CA(organization_name="chatkey fake-oauth, one run")
    issued = authority.issue_cert("localhost", "127.0.0.1", "::1", host, *every_name())
    with TemporaryDirectory(prefix="chatkey-fake-oauth-") as folder:
        files = Certified(Path(folder, "chain.pem"), Path(folder, "key.pem"), Path(ca or Path(folder, "ca.pem")))
        files.chain.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
        files.key.touch(mode=0o600)
        issued.private_key_pem.write_to_path(files.key)
        try:
            authority.cert_pem.write_to_path(files.ca)
        except OSError as error:
            raise SettingsError(f"--tls: {files.ca} cannot be written: {error.strerror}.") from error
        yield files
