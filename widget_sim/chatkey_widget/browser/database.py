"""Stores the key in IndexedDB. The browser may refuse a database request, or never answer the request (D-04)."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import js
from pyodide.ffi import JsException, create_once_callable, create_proxy

from chatkey_protocol.storage_keys import DATABASE, RECORD, STORE
from chatkey_widget.browser.js_values import member, thrown_name

STORAGE_SECONDS: Final = 3.0
"""The timeout of a request to IndexedDB, in seconds. Some browsers never answer."""

TIMEOUT: Final = "timeout"


class StorageRefused(Exception):
    """IndexedDB cannot be used. The message is the name of the browser's error, or a name that the widget defines."""


async def opened() -> Any:
    """Open the database, and create the store if it is missing. Raises `StorageRefused`."""
    if not member(js, "indexedDB"):
        raise StorageRefused("missing")
    database = await _open()
    if database.objectStoreNames.contains(STORE):
        return database
    version = database.version + 1
    database.close()
    return await _open(version)


async def read(database: Any) -> Any:
    """Return the record, or None. Raises `StorageRefused`."""
    return await _ask(lambda: _store(database, "readonly").get(RECORD))


async def insert(database: Any, record: Any) -> None:
    """Write the record, unless the database already contains a record. Raises `StorageRefused`."""
    try:
        await _ask(lambda: _store(database, "readwrite").add(record, RECORD))
    except StorageRefused as refusal:
        if str(refusal) != "ConstraintError":
            raise


async def delete_unless(sound: Callable[[Any], bool], database: Any) -> bool:
    """Delete the record if `sound` rejects it, and return whether the record was deleted. Raises `StorageRefused`.

    Reading and deleting happen in one transaction. A record that another tab writes meanwhile is therefore never
    deleted.
    """
    spoilt = False

    def judge(request: Any) -> None:
        nonlocal spoilt
        spoilt = request.result is not None and not sound(request.result)
        if spoilt:
            request.source.delete(RECORD)

    await _ask(lambda: _store(database, "readwrite").get(RECORD), judge)
    return spoilt


async def _open(*version: int) -> Any:
    blocked: list[object] = []
    upgraded = create_proxy(lambda event: _add_store(event.target.result))
    noted = create_proxy(blocked.append)
    request = _begin(lambda: js.indexedDB.open(DATABASE, *version))
    request.onupgradeneeded, request.onblocked = upgraded, noted
    try:
        return await _settle(request)
    except StorageRefused as refusal:
        if str(refusal) != TIMEOUT:
            raise
        _close_later(request)
        raise StorageRefused("blocked" if blocked else TIMEOUT) from None
    except asyncio.CancelledError:
        _close_later(request)
        raise
    finally:
        request.onupgradeneeded = request.onblocked = None
        upgraded.destroy()
        noted.destroy()


def _close_later(request: Any) -> None:
    """If the database opens later, close it at once: an unused open connection would block other tabs."""
    request.onsuccess = create_once_callable(lambda _event: request.result.close())


def _add_store(database: Any) -> None:
    if not database.objectStoreNames.contains(STORE):
        database.createObjectStore(STORE)


def _store(database: Any, mode: str) -> Any:
    return database.transaction(STORE, mode).objectStore(STORE)


async def _ask(asking: Callable[[], Any], then: Callable[[Any], None] | None = None) -> Any:
    return await _settle(_begin(asking), then)


def _begin(asking: Callable[[], Any]) -> Any:
    try:
        return asking()
    except JsException as error:
        raise StorageRefused(thrown_name(error)) from None


async def _settle(request: Any, then: Callable[[Any], None] | None = None) -> Any:
    """Wait for a request, and call `then` while its transaction is still active. Raises `StorageRefused`."""
    settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settle(_event: object) -> None:
        if settled.done():
            return
        if then is not None and not request.error:
            then(request)
        settled.set_result(None)

    proxy = create_proxy(settle)
    request.onsuccess = request.onerror = proxy
    try:
        async with asyncio.timeout(STORAGE_SECONDS):
            await settled
    except TimeoutError:
        raise StorageRefused(TIMEOUT) from None
    finally:
        request.onsuccess = request.onerror = None
        proxy.destroy()
    if request.error:
        raise StorageRefused(request.error.name)
    return request.result
