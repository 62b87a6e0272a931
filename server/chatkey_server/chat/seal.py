"""What tells a deployment's own payloads from all others on the same Redis: a channel and a seal of its own."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Final

SEAL_BYTES: Final = 16


class Seal:
    """Names the channels of a deployment, and seals what it says there (HMAC-SHA256, RFC 2104) with its first key.

    What was sealed with any of the keys is its own: so while master keys are rotated, processes that have the same
    two in another order understand each other.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)
        self.prefixes = tuple(f"chatkey:{_mac(key, b'channel').hex()}" for key in self._keys)
        """What all names begin with that belong to a key: the deployment's own part of a shared Redis."""

    def names(self, name: str) -> tuple[str, ...]:
        """Return the name of a channel by each key, which says nothing of whose it is.

        One speaks on the first, and listens on all.
        """
        return tuple(
            f"{prefix}:{_mac(key, f'channel:{name}'.encode()).hex()}"
            for prefix, key in zip(self.prefixes, self._keys, strict=True)
        )

    def close(self, payload: bytes) -> bytes:
        """Seal a payload."""
        return _mac(self._keys[0], payload) + payload

    def open(self, sealed: bytes) -> bytes | None:
        """Return what was sealed, or None for what was not sealed by this deployment."""
        mac, payload = sealed[:SEAL_BYTES], sealed[SEAL_BYTES:]
        is_ours = any(hmac.compare_digest(mac, _mac(key, payload)) for key in self._keys)
        return payload if is_ours else None


def _mac(key: bytes, payload: bytes) -> bytes:
    return hmac.digest(key, payload, "sha256")[:SEAL_BYTES]
