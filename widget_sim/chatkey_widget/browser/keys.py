"""The connection key pair.

WebCrypto creates the pair, and IndexedDB stores it. The private half cannot be exported (D-04).
"""

from typing import Any, Final

import js
from pyodide.ffi import JsException, to_js

from chatkey_protocol.storage_keys import KEY_LOCK
from chatkey_widget.browser.database import StorageRefused, delete_unless, insert, opened, read
from chatkey_widget.browser.js_values import member, thrown, to_object
from chatkey_widget.browser.locks import WebLocks
from chatkey_widget.keys import PublicKey
from chatkey_widget.ports import KeyUnavailable, Prepared

LOCK_SECONDS: Final = 5.0
"""The time in seconds for which another tab may create the key. The key is safe without the lock (D-04)."""


class BrowserKeys:
    """The key pair of the origin. It is created only once, even if several tabs open at the same time."""

    def __init__(self, locks: WebLocks) -> None:
        self._locks = locks
        self._private: Any = None

    async def prepare(self) -> Prepared:
        """Read or create the key pair.

        If IndexedDB refuses to store the pair, the pair exists only in memory. Raises `KeyUnavailable`.
        """
        if not member(member(js, "crypto"), "subtle"):
            raise KeyUnavailable("crypto.subtle is missing.")
        try:
            return await self._prepare()
        except JsException as error:
            raise KeyUnavailable(f"The browser cannot create a key: {thrown(error)}") from None

    async def sign(self, data: bytes) -> bytes:
        """Sign with ES256, and return the signature (raw r‖s, 64 bytes)."""
        algorithm = to_object({"name": "ECDSA", "hash": "SHA-256"})
        signature = await js.crypto.subtle.sign(algorithm, self._private, to_js(data))
        return bytes(signature.to_bytes())

    async def _prepare(self) -> Prepared:
        lost = degraded = None
        try:
            pair, lost = await self._stored()
        except StorageRefused as refusal:
            pair, degraded = await _generate(), str(refusal)
        self._private = pair.privateKey
        return Prepared(await _public(pair), degraded, lost)

    async def _stored(self) -> tuple[Any, str | None]:
        database = await opened()
        try:
            record = await read(database)
            if _is_sound(record):
                return record, None
            async with self._locks.hold(KEY_LOCK, LOCK_SECONDS):
                return await _make(database)
        finally:
            database.close()


async def _make(database: Any) -> tuple[Any, str | None]:
    """Create the key pair, unless another tab has just created one.

    A record is never overwritten, so all tabs use the first pair.
    """
    lost = "corrupt" if await delete_unless(_is_sound, database) else None
    record = await read(database)
    if not _is_sound(record):
        await insert(database, await _generate())
        record = await read(database)
    if not _is_sound(record):
        raise StorageRefused("unsaved")  # the browser accepted the record, but does not return it
    return record, lost


async def _generate() -> Any:
    curve = to_object({"name": "ECDSA", "namedCurve": "P-256"})
    return await js.crypto.subtle.generateKey(curve, False, to_js(["sign", "verify"]))


async def _public(pair: Any) -> PublicKey:
    jwk = await js.crypto.subtle.exportKey("jwk", pair.publicKey)
    return PublicKey(jwk.x, jwk.y)


def _is_sound(record: Any) -> bool:
    """Return whether a record is a P-256 pair with a private key that cannot be exported.

    Any other record is forged or damaged.
    """
    private, public = member(record, "privateKey"), member(record, "publicKey")
    return (
        _is_p256(private, "private")
        and _is_p256(public, "public")
        and private.extractable is False
        and public.extractable is True
        and list(private.usages) == ["sign"]
    )


def _is_p256(key: Any, kind: str) -> bool:
    algorithm = member(key, "algorithm")
    return (
        bool(member(member(key, "constructor"), "name") == "CryptoKey")
        and key.type == kind
        and member(algorithm, "name") == "ECDSA"
        and member(algorithm, "namedCurve") == "P-256"
    )
