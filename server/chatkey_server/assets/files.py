"""Maps each path under `/assets` to the content of the file in every available encoding."""

from __future__ import annotations

import gzip
import hashlib
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from chatkey import __version__
from chatkey_server.assets.encoding import IDENTITY
from chatkey_server.assets.manifest import Manifest
from chatkey_server.public.answers import ANY_ORIGIN, Header
from chatkey_server.settings import Settings

SDK: Final = "sdk.js"
DECLARATIONS: Final = "sdk.d.ts"
PINNED: Final = "sdk.json"
"""A file that contains the address of the current `sdk.js`, and its hash for the `integrity` attribute."""
SERVED: Final = "/* served */ null"
"""The placeholder in `sdk.js` for the addresses, which only the running server knows."""

ENCODED: Final = {".zst": "zstd", ".gz": "gzip"}
TYPES: Final = {
    ".js": b"text/javascript; charset=utf-8",
    ".ts": b"text/plain; charset=utf-8",
    ".mjs": b"text/javascript; charset=utf-8",
    ".json": b"application/json",
    ".wasm": b"application/wasm",
    ".zip": b"application/zip",
    ".snapshot": b"application/octet-stream",
}
"""Media types by file suffix. `mimetypes` is not used because its result depends on the machine, and a wrong type
stops modules and streaming compilation.
"""

MINUTE: Final = (b"cache-control", b"public, max-age=60")
FOREVER: Final = (b"cache-control", b"public, max-age=31536000, immutable")
FOR_EVERY_PAGE: Final = (
    ANY_ORIGIN,
    (b"cross-origin-resource-policy", b"cross-origin"),
    (b"timing-allow-origin", b"*"),
    (b"vary", b"accept-encoding"),
)
"""Headers that let every page load these files, even an isolated one (CORP), and measure how long that took."""


class Form:
    """One encoding of a file as it was when the server started. A later build or upgrade may replace the file.

    The content is read at the first request for this encoding, because most browsers ask for the same encoding.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._mapped = mmap(file.fileno(), 0, access=ACCESS_READ)

    @cached_property
    def content(self) -> bytes:
        return bytes(self._mapped)


@dataclass(frozen=True, slots=True)
class Text:
    """One encoding of a text that was generated when the server started."""

    content: bytes


@dataclass(frozen=True, slots=True)
class File:
    """The response for one path: its content in each encoding, and the headers that all encodings share."""

    forms: dict[str, Form | Text]
    headers: tuple[Header, ...]
    etag: str | None = None


def hashed_files(built: Path, manifest: Manifest) -> dict[str, File]:
    """Return the files with a hash in their names, by path below `/assets`. Browsers keep these files for ever."""
    compressed = {name for name in manifest.sizes if PurePosixPath(name).suffix in ENCODED}
    plain = manifest.sizes.keys() - compressed - {SDK, DECLARATIONS}
    return {name: File(dict(_forms(built, name, compressed)), _headers(name, FOREVER)) for name in plain}


def fixed_files(built: Path, manifest: Manifest, settings: Settings) -> dict[str, File]:
    """Return `sdk.js` and its type declarations, whose names never change. Browsers keep these files for a minute."""
    return {
        SDK: _fixed(SDK, _sdk(built, manifest, settings)),
        DECLARATIONS: _fixed(DECLARATIONS, (built / DECLARATIONS).read_bytes()),
    }


def pinned_files(built: Path, manifest: Manifest, settings: Settings) -> dict[str, File]:
    """Return `sdk.js` under a name with a hash, and `sdk.json`, which contains that name and the hash."""
    sdk = _sdk(built, manifest, settings)
    name = f"sdk-{hashlib.sha256(sdk).hexdigest()[:16]}.js"
    pinned = {
        "version": __version__,
        "url": f"{settings.assets}/{name}",
        "integrity": f"sha384-{b64encode(hashlib.sha384(sdk).digest()).decode()}",
    }
    return {name: File(_texts(sdk), _headers(name, FOREVER)), PINNED: _fixed(PINNED, msgspec.json.encode(pinned))}


def _sdk(built: Path, manifest: Manifest, settings: Settings) -> bytes:
    """Return `sdk.js` with this server's addresses and the names of the built files filled in."""
    served = {
        "version": __version__,
        "baseUrl": settings.base_url,
        "pyodide": f"{settings.assets}/{manifest.pyodide}/",
        "snapshot": f"{settings.assets}/{manifest.snapshot}",
        "snapshotSize": manifest.sizes[manifest.snapshot],
        "sources": f"{settings.assets}/{manifest.sources}",
        "lock": manifest.lock,
    }
    return (built / SDK).read_bytes().replace(SERVED.encode(), msgspec.json.encode(served))


def _fixed(name: str, content: bytes) -> File:
    # A weak ETag, because one version has several encodings (RFC 9110 8.8.1).
    etag = f'W/"{hashlib.sha256(content).hexdigest()[:16]}"'
    return File(_texts(content), (*_headers(name, MINUTE), (b"etag", etag.encode())), etag)


def _texts(content: bytes) -> dict[str, Form | Text]:
    return {IDENTITY: Text(content), "gzip": Text(gzip.compress(content, 9, mtime=0))}


def _forms(built: Path, name: str, compressed: Iterable[str]) -> Iterable[tuple[str, Form]]:
    yield IDENTITY, Form(built / name)
    for suffix, encoding in ENCODED.items():
        if name + suffix in compressed:
            yield encoding, Form(built / (name + suffix))


def _headers(name: str, caching: Header) -> tuple[Header, ...]:
    return ((b"content-type", TYPES[PurePosixPath(name).suffix]), caching, *FOR_EVERY_PAGE)
