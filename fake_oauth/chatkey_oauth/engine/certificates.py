"""A self-signed certificate for each key that signs.

Few clients request certificates, so `cryptography.x509` is imported only with this module.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey


def certificate(key: RSAPrivateKey | EllipticCurvePrivateKey, now: float) -> str:
    """Return a PEM certificate for a public key, valid from one day before to 14 days after `now`."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "federated-signon.example")])
    today = datetime.fromtimestamp(now, UTC)
    return (
        x509.CertificateBuilder(name, name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=14))
        .sign(key, SHA256())
        .public_bytes(Encoding.PEM)
        .decode()
    )
