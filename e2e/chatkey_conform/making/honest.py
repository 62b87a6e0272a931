"""Makes signed tokens, valid or faulty, without using code of the server."""

from __future__ import annotations

import hmac
import time
from typing import Final

from chatkey_peer.key import REMOVED, b64, dumps, merged, unb64


class Maker:
    """Makes valid or faulty JWS and tokens. A member that is `REMOVED` is left out. Bytes are used unchanged."""

    b64 = staticmethod(b64)
    unb64 = staticmethod(unb64)
    dumps = staticmethod(dumps)
    merged = staticmethod(merged)
    removed: Final = REMOVED

    def mac(self, signed: str | bytes, key: bytes, digest: str = "sha256") -> bytes:
        """Return the HMAC, with SHA-256 by default."""
        return hmac.digest(key, signed if isinstance(signed, bytes) else signed.encode(), digest)

    def jws(self, header: object, payload: object, key: bytes) -> str:
        """Return a compact JWS with an HS256 MAC, even if the header names another algorithm."""
        signed = f"{b64(dumps(header))}.{b64(dumps(payload))}"
        return f"{signed}.{b64(self.mac(signed, key))}"

    def minute_key(self, secret: bytes, at: float) -> bytes:
        """Return the key that signs visitor tokens issued at `at` (contract 2.6)."""
        return self.mac(time.strftime("%H:%M", time.gmtime(at)), secret)
