"""The connection key as the widget sees it: its public coordinates, its thumbprint, its visitor uid."""

import base64
import hashlib
from dataclasses import dataclass

from chatkey_protocol.storage_keys import VISITOR_UID_PREFIX


def base64url(data: bytes) -> str:
    """Encode without padding (RFC 7515 section 2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A P-256 public key by its base64url coordinates."""

    x: str
    y: str

    @property
    def jwk(self) -> dict[str, str]:
        """The key as the proof's header carries it: the required members, in the order of their names."""
        return {"crv": "P-256", "kty": "EC", "x": self.x, "y": self.y}

    @property
    def jkt(self) -> str:
        """The SHA-256 thumbprint (RFC 7638 section 3)."""
        canonical = f'{{"crv":"P-256","kty":"EC","x":"{self.x}","y":"{self.y}"}}'
        return base64url(hashlib.sha256(canonical.encode("ascii")).digest())

    @property
    def uid(self) -> str:
        """`wf_visitor_uid` (contract 2.3, D-04)."""
        return VISITOR_UID_PREFIX + self.jkt
