"""Reads everything that a page keeps in the browser, and that a script of the same origin could read too."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from playwright.sync_api import Page

from chatkey_e2e.closing import unless_closing

NOTHING: Final[dict[str, list[Any]]] = {"found": [], "keys": []}

READ: Final = """async () => {
  const found = [], keys = [], seen = new Set();
  const answer = (request) => new Promise((resolve, reject) => {
    Object.assign(request, { onsuccess: () => resolve(request.result), onerror: () => reject(request.error) });
  });
  async function look(place, value) {
    if (typeof value === "string" || typeof value === "bigint") found.push([place, String(value)]);
    if (value === null || typeof value !== "object" || seen.has(value)) return;
    seen.add(value);
    if (value instanceof CryptoKey) {
      keys.push([value.type, value.algorithm.namedCurve, value.extractable]);
      const format = { private: "pkcs8", secret: "raw" }[value.type];
      if (value.extractable && format) await look(place, await crypto.subtle.exportKey(format, value));
    } else if (value instanceof Blob) {
      await look(place, await value.arrayBuffer());
    } else if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
      const bytes = [...new Uint8Array(value.buffer ?? value, value.byteOffset ?? 0, value.byteLength)];
      found.push([place, bytes.join()], [place, bytes.map((byte) => String.fromCharCode(byte)).join("")]);
    } else if (Array.isArray(value) && value.every(Number.isInteger)) {
      found.push([place, value.join()]);
    } else {
      const members = value instanceof Map ? [...value].flat() : value instanceof Set ? value : Object.values(value);
      for (const member of members) await look(place, member);
    }
  }
  async function readDatabases() {
    for (const { name } of await indexedDB.databases()) {
      const database = await answer(indexedDB.open(name));
      for (const store of database.objectStoreNames) {
        const entries = database.transaction(store).objectStore(store);
        const asked = [answer(entries.getAllKeys()), answer(entries.getAll())];
        await look(`IndexedDB ${name}`, [{ all: await Promise.all(asked) }]);
      }
      database.close();
    }
  }
  async function readCaches() {
    for (const name of await caches.keys()) {
      const cache = await caches.open(name);
      for (const request of await cache.keys()) {
        await look("Cache Storage", request.url);
        await look("Cache Storage", await (await cache.match(request)).arrayBuffer());
      }
    }
  }
  const trees = [document];
  for (let i = 0; i < trees.length; i += 1) {
    for (const element of trees[i].querySelectorAll("*")) {
      if (element.shadowRoot) trees.push(element.shadowRoot);
      if (typeof element.value === "string") await look("a field", element.value);
    }
    await look("the DOM", (trees[i].documentElement ?? trees[i]).innerHTML);
  }
  await look("history.state", [{ state: history.state }]);
  if (self.origin !== "null" && self.isSecureContext) {
    await readDatabases();
    await readCaches();
  }
  return { found, keys };
}"""


def keys(page: Page) -> list[list[Any]]:
    """Return the type, the curve, and whether it can be exported, of each key in the page's databases."""
    read: list[list[Any]] = page.evaluate(READ)["keys"]
    return read


def texts(page: Page) -> Iterator[tuple[str, str]]:
    """Yield the texts that the page's frames keep in databases, caches and documents, each with its place.

    Bytes are a text of numbers, and a text with one character for each byte.
    """
    for frame in page.frames:
        for place, text in unless_closing(page, partial(frame.evaluate, READ), NOTHING)["found"]:
            yield f"{place} of {frame.url.partition('?')[0].partition('#')[0]}", text
