"""A temporary certificate authority for one run, and the data that clients need to trust it."""

import base64
import hashlib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from chatkey_stack.private import write_private

NAMES = ("shop.localhost", "chat.localhost", "id.localhost", "localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class Certificates:
    """The certificate files for servers and clients.

    `chain` contains the leaf and the CA. Chromium looks for `spki`, the base64 SHA-256 of the CA's public key, in the
    chain that the server sends (`--ignore-certificate-errors-spki-list`). Chromium still makes every other check.
    """

    chain: Path
    key: Path
    ca: Path
    spki: str


@contextmanager
def issue(folder: Path, names: tuple[str, ...] = NAMES) -> Iterator[Certificates]:
    """Create a CA and one leaf certificate for `names`, and write both to `folder`.

    Only the owner can read the key of the leaf, which is deleted when the block ends. The key of the CA is never
    written.
    """
    authority = trustme.CA()
    leaf = authority.issue_cert(*names)
    made = Certificates(
        folder / "chain.pem", folder / "key.pem", folder / "ca.pem", spki_of(authority.cert_pem.bytes())
    )
    made.chain.write_bytes(b"".join(pem.bytes() for pem in (*leaf.cert_chain_pems, authority.cert_pem)))
    made.ca.write_bytes(authority.cert_pem.bytes())
    try:
        write_private(made.key, leaf.private_key_pem.bytes().decode())
        yield made
    finally:
        made.key.unlink(missing_ok=True)


def trust(ca: Path | None) -> ssl.SSLContext:
    """Return a context with which a client verifies servers, with the CA in the file `ca` or with the system's CAs."""
    return ssl.create_default_context(cafile=ca)


def spki_of(pem: bytes) -> str:
    """Return the base64 SHA-256 of a certificate's public key. If there are several certificates, use the first."""
    certificate = x509.load_pem_x509_certificate(pem)
    public = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(public).digest()).decode()
