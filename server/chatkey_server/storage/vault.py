"""Encrypts stored secrets, and derives keys from the master key (D-15)."""

from __future__ import annotations

import os
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from chatkey_server.settings import Settings, SettingsError

KEY_FILE = "master.key"


class Vault:
    """Encrypts secrets for the database, and derives the keys for states and the hub from the master keys (HKDF).

    The first master key is the current one. Data that was encrypted or signed with the other keys can still be read.
    """

    def __init__(self, master_keys: Sequence[str]) -> None:
        self._fernet = MultiFernet([Fernet(urlsafe_b64encode(_derive(key, "seal"))) for key in master_keys])
        self._state_keys = tuple(_derive(key, "state") for key in master_keys)
        self._hub_keys = tuple(_derive(key, "hub") for key in master_keys)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the vault for these settings. Without CHATKEY_MASTER_KEY, the key is in a file in the data folder."""
        return cls(settings.master_key or (_kept_key(settings.data_dir),))

    def seal(self, secret: str) -> str:
        return self._fernet.encrypt(secret.encode()).decode()

    def open(self, sealed: str) -> str:
        """Decrypt the output of `seal`. If no key fits, raises `SettingsError`, which names CHATKEY_MASTER_KEY."""
        try:
            return self._fernet.decrypt(sealed).decode()
        except InvalidToken:
            raise SettingsError(_NO_KEY_FITS) from None

    def reseal(self, sealed: str) -> str:
        """Encrypt a sealed secret again, under the current key. Raises the same `SettingsError` as `open`."""
        try:
            return self._fernet.rotate(sealed).decode()
        except InvalidToken:
            raise SettingsError(_NO_KEY_FITS) from None

    @property
    def state_keys(self) -> tuple[bytes, ...]:
        """The keys that sign OAuth states, the current one first."""
        return self._state_keys

    @property
    def hub_keys(self) -> tuple[bytes, ...]:
        """The keys that encrypt messages between processes, the current one first."""
        return self._hub_keys


_NO_KEY_FITS = (
    "CHATKEY_MASTER_KEY (not shown) does not decrypt the secrets in the database; append the key that "
    f"encrypted them after the new one, with a comma between them, or restore the {KEY_FILE} that was in "
    "the data folder"
)


def _derive(master_key: str, purpose: str) -> bytes:
    """Derive 32 bytes for one purpose (RFC 5869)."""
    return HKDF(SHA256(), length=32, salt=None, info=f"chatkey {purpose} 1".encode()).derive(master_key.encode())


def _kept_key(data_dir: Path) -> str:
    """Return the master key from the data folder.

    If there is none, create a key that only the owner of the file can read.
    """
    path = data_dir / KEY_FILE
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            _publish(path, secrets.token_urlsafe(48))
        key = path.read_text().strip()
        open_to_others = path.stat().st_mode & 0o077
    except OSError as error:
        raise SettingsError(
            f"CHATKEY_DATA_DIR cannot hold the master key ({error.strerror}); set it to a folder that this user "
            "may write to, or set CHATKEY_MASTER_KEY"
        ) from None
    if open_to_others:
        raise SettingsError(f"CHATKEY_DATA_DIR has a {KEY_FILE} that other users can read; run chmod 600 on it")
    if not key:
        raise SettingsError(f"CHATKEY_DATA_DIR contains an empty {KEY_FILE}; restore it from a backup")
    return key


def _publish(path: Path, key: str) -> None:
    """Write the key file atomically if it does not exist. If several processes start at once, only one writes it."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink()
