"""The public half of the connection key: coordinates, thumbprint, and the visitor's uid."""

import base64
import hashlib
from dataclasses import dataclass

from chatkey_protocol.storage_keys import VISITOR_UID_PREFIX


def base64url(data: bytes) -> str:
    """Encode in base64url without padding (RFC 7515 section 2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A P-256 public key, given as base64url coordinates."""

    x: str
    y: str

    @property
    def jwk(self) -> dict[str, str]:
        """The key for the header of a proof: the required members, ordered by name."""
        return {"crv": "P-256", "kty": "EC", "x": self.x, "y": self.y}

    @property
    def jkt(self) -> str:
        """The SHA-256 thumbprint (RFC 7638 section 3)."""
        canonical = f'{{"crv":"P-256","kty":"EC","x":"{self.x}","y":"{self.y}"}}'
        return base64url(hashlib.sha256(canonical.encode("ascii")).digest())

    @property
    def uid(self) -> str:
        """The uid of the visitor, `wf_visitor_uid` (contract 2.3, D-04)."""
        return VISITOR_UID_PREFIX + self.jkt
