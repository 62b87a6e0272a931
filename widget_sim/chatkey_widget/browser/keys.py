"""The connection key pair: made by WebCrypto, kept in IndexedDB, its private half never exportable (D-04)."""

import asyncio
from typing import Any, Final

import js
from pyodide.ffi import JsException, create_proxy, to_js

from chatkey_protocol.storage_keys import DATABASE, KEY_LOCK, RECORD, STORE
from chatkey_widget.browser.js_values import member, thrown, to_object
from chatkey_widget.browser.locks import WebLocks
from chatkey_widget.keys import PublicKey
from chatkey_widget.ports import KeyUnavailable, Prepared

STORAGE_SECONDS: Final = 3.0
"""Some browsers never answer when IndexedDB is asked; this long is waited."""


class StorageRefused(Exception):
    """IndexedDB cannot be used; the message is the browser's reason."""


class BrowserKeys:
    """One key pair per origin, made once even if several tabs open at the same time."""

    def __init__(self, locks: WebLocks) -> None:
        self._locks = locks
        self._private: Any = None

    async def prepare(self) -> Prepared:
        """Read the key pair, or make it; in memory only where IndexedDB refuses. Raises `KeyUnavailable`."""
        if not member(member(js, "crypto"), "subtle"):
            raise KeyUnavailable("crypto.subtle is missing.")
        lost = degraded = None
        try:
            pair, lost = await self._stored()
        except StorageRefused as refusal:
            pair, degraded = await _generate(), str(refusal)
        self._private = pair.privateKey
        return Prepared(await _public(pair), degraded, lost)

    async def sign(self, data: bytes) -> bytes:
        """Sign with ES256; returns the raw r‖s, 64 bytes."""
        algorithm = to_object({"name": "ECDSA", "hash": "SHA-256"})
        signature = await js.crypto.subtle.sign(algorithm, self._private, to_js(data))
        return bytes(signature.to_bytes())

    async def _stored(self) -> tuple[Any, str | None]:
        database = await _open()
        try:
            record = await _get(database)
            if _is_sound(record):
                return record, None
            async with self._locks.hold(KEY_LOCK):
                return await _make(database)
        finally:
            database.close()


async def _make(database: Any) -> tuple[Any, str | None]:
    """Make the pair unless another tab has just done so. Insert-only: whoever comes second takes the first's."""
    lost = None
    record = await _get(database)
    if record and not _is_sound(record):
        lost = "corrupt"
        await _ask(_store(database, "readwrite").delete(RECORD))
    if not _is_sound(record):
        await _add(database, await _generate())
        record = await _get(database)
    if not _is_sound(record):
        raise StorageRefused("the key that was stored did not come back")
    return record, lost


async def _generate() -> Any:
    curve = to_object({"name": "ECDSA", "namedCurve": "P-256"})
    return await js.crypto.subtle.generateKey(curve, False, to_js(["sign", "verify"]))


async def _public(pair: Any) -> PublicKey:
    jwk = await js.crypto.subtle.exportKey("jwk", pair.publicKey)
    return PublicKey(jwk.x, jwk.y)


def _is_sound(record: Any) -> bool:
    """Tell whether a record is a P-256 pair whose private key cannot leave: anything else was planted or spoilt."""
    private, public = member(record, "privateKey"), member(record, "publicKey")
    return (
        _is_p256(private, "private")
        and _is_p256(public, "public")
        and private.extractable is False
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


async def _open() -> Any:
    if not member(js, "indexedDB"):
        raise StorageRefused("indexedDB is missing")
    try:
        request = js.indexedDB.open(DATABASE, 1)
    except JsException as error:
        raise StorageRefused(thrown(error)) from None
    upgrade = create_proxy(lambda _event: request.result.createObjectStore(STORE))
    request.onupgradeneeded = upgrade
    try:
        database = await _ask(request)
    finally:
        request.onupgradeneeded = None
        upgrade.destroy()
    if not database.objectStoreNames.contains(STORE):
        database.close()
        raise StorageRefused(f"the database {DATABASE} has no store {STORE}")
    return database


def _store(database: Any, mode: str) -> Any:
    return database.transaction(STORE, mode).objectStore(STORE)


async def _get(database: Any) -> Any:
    return await _ask(_store(database, "readonly").get(RECORD))


async def _add(database: Any, pair: Any) -> None:
    try:
        request = _store(database, "readwrite").add(pair, RECORD)
    except JsException as error:
        raise StorageRefused(thrown(error)) from None
    try:
        await _ask(request)
    except StorageRefused as refusal:
        if str(refusal) != "ConstraintError":
            raise
        # Another tab was first; its key is read back next.


async def _ask(request: Any) -> Any:
    """Wait for an IndexedDB request. Raises `StorageRefused` with the name of its error, or when it never settles."""
    settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settle(_event: object) -> None:
        if not settled.done():
            settled.set_result(None)

    proxy = create_proxy(settle)
    request.onsuccess = request.onerror = proxy
    try:
        async with asyncio.timeout(STORAGE_SECONDS):
            await settled
    except TimeoutError:
        raise StorageRefused(f"no answer within {STORAGE_SECONDS:.0f} s") from None
    finally:
        request.onsuccess = request.onerror = None
        proxy.destroy()
    if request.error:
        raise StorageRefused(request.error.name)
    return request.result
