"""Names a deployment's channels on a shared Redis, and encrypts what the deployment's processes publish."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
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
"""How many sessions' keys are kept in memory."""
MOST_NAMES: Final = 4096
"""How many channels' names are kept in memory. The least recently used ones are dropped."""


class Opened(NamedTuple):
    """A decrypted payload, the session that encrypted it, and the payload's number in that session, counted from 0."""

    session: bytes
    number: int
    payload: bytes


class Seal:
    """Names a deployment's channels, and encrypts publications with the first key (AES-256-GCM).

    A payload that was encrypted with any of the keys can be decrypted. Thus processes that have the same two keys in a
    different order can communicate while master keys are rotated. Each `Seal` is a session: it has a random id, a key
    derived from that id, and a counter as the nonce, so no nonce is used twice.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)
        self._ciphers: dict[bytes, AESGCM] = {}
        self._numbers = count()
        self._cached_names = lru_cache(MOST_NAMES)(self._names)
        self.session = token_bytes(SESSION_BYTES)
        self.prefixes = tuple(f"chatkey:{_mac(key, b'channel').hex()}" for key in self._keys)
        """The prefix of all channel names that belong to a key: the deployment's own part of a shared Redis."""

    def names(self, name: str) -> tuple[str, ...]:
        """Return the channel's name under each key. A name does not reveal whose channel it is.

        Publish on the first name, and listen on all names.
        """
        return self._cached_names(name)

    def close(self, payload: bytes) -> bytes:
        """Encrypt a payload under the next number of this session."""
        if self.session not in self._ciphers:
            self._ciphers[self.session] = _cipher(self._keys[0], self.session)
        number = next(self._numbers).to_bytes(NUMBER_BYTES, "big")
        return self.session + number + self._ciphers[self.session].encrypt(number, payload, None)

    def open(self, sealed: bytes) -> Opened | None:
        """Decrypt a payload. Returns None if the payload was not encrypted by this deployment."""
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

    def _names(self, name: str) -> tuple[str, ...]:
        return tuple(
            f"{prefix}:{_mac(key, f'channel:{name}'.encode()).hex()}"
            for prefix, key in zip(self.prefixes, self._keys, strict=True)
        )

    def _keep(self, session: bytes, cipher: AESGCM) -> None:
        if len(self._ciphers) >= MOST_SESSIONS:
            self._ciphers.clear()
        self._ciphers[session] = cipher


def _cipher(key: bytes, session: bytes) -> AESGCM:
    return AESGCM(hmac.digest(key, b"session:" + session, "sha256"))


def _mac(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")[:NAME_BYTES]
