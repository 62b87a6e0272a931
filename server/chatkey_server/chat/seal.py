"""The channels of a deployment on a shared Redis, and the encryption of what its processes publish there."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from secrets import token_bytes
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NAME_BYTES: Final = 16
SESSION_BYTES: Final = 16
NUMBER_BYTES: Final = 12
HEAD_BYTES: Final = SESSION_BYTES + NUMBER_BYTES
MOST_SESSIONS: Final = 1000
"""Sessions whose keys are kept at hand."""


class Opened(NamedTuple):
    """A payload, the session that sealed it, and its number there: the first is 0."""

    session: bytes
    number: int
    payload: bytes


class Seal:
    """Names the channels of a deployment, and encrypts what it publishes there (AES-256-GCM) with its first key.

    A payload that was sealed with any of the keys can be opened. So while master keys are rotated, processes that have
    the same two in another order understand each other. Each `Seal` is a session: it has a random id, a key derived
    from that, and a counter as the nonce, so no nonce is used twice.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)
        self._ciphers: dict[bytes, AESGCM] = {}
        self._numbers = count()
        self.session = token_bytes(SESSION_BYTES)
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
        """Encrypt a payload, and number it."""
        if self.session not in self._ciphers:
            self._ciphers[self.session] = _cipher(self._keys[0], self.session)
        number = next(self._numbers).to_bytes(NUMBER_BYTES, "big")
        return self.session + number + self._ciphers[self.session].encrypt(number, payload, None)

    def open(self, sealed: bytes) -> Opened | None:
        """Return what was sealed, or None for what was not sealed by this deployment."""
        session, number, text = sealed[:SESSION_BYTES], sealed[SESSION_BYTES:HEAD_BYTES], sealed[HEAD_BYTES:]
        if not text:
            return None
        known = self._ciphers.get(session)
        for cipher in [known] if known else [_cipher(key, session) for key in self._keys]:
            with suppress(InvalidTag):
                payload = cipher.decrypt(number, text, None)
                self._keep(session, cipher)
                return Opened(session, int.from_bytes(number, "big"), payload)
        return None

    def _keep(self, session: bytes, cipher: AESGCM) -> None:
        if len(self._ciphers) >= MOST_SESSIONS:
            self._ciphers.clear()
        self._ciphers[session] = cipher


def _cipher(key: bytes, session: bytes) -> AESGCM:
    return AESGCM(hmac.digest(key, b"session:" + session, "sha256"))


def _mac(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")[:NAME_BYTES]
