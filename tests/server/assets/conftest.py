"""Fixtures: an assets folder of a few bytes, and clients of servers that serve this folder."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from chatkey_server.assets import router
from chatkey_server.settings import Settings

MakeClient = Callable[..., TestClient[Litestar]]

FILES = {
    "pyodide-1/pyodide.asm.wasm": b"\0asm plain",
    "pyodide-1/pyodide.asm.wasm.zst": bytes.fromhex("28b52ffd200a5100000061736d20706c61696e"),  # the same, compressed
    "pyodide-1/pyodide.asm.wasm.gz": gzip.compress(b"\0asm plain"),
    "pyodide-1/pyodide.mjs": b"export {}",
    "pyodide-1/pyodide-lock.json": b"{}",
    "pyodide-1/python_stdlib.zip": b"PK",
    "widget-1.snapshot": b"memory",
    "widget-1.zip": b"PK",
    "sdk.js": b"const served = /* served */ null;",
    "sdk.d.ts": b"declare const Service: unknown;",
}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """The assets folder as the builder writes it."""
    for name, content in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
    manifest = {
        "source": "s",
        "widget": "w",
        "pyodide": "pyodide-1",
        "snapshot": "widget-1.snapshot",
        "sources": "widget-1.zip",
        "lock": {"version": "1"},
        "sizes": {name: len(content) for name, content in FILES.items()},
    }
    (tmp_path / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    return tmp_path


@pytest.fixture
def make_client(built: Path) -> Iterator[MakeClient]:
    """Start a server with these settings and the small assets folder, and return a client."""
    with ExitStack() as ending:

        def make(**settings: object) -> TestClient[Litestar]:
            app = Litestar([router(msgspec.convert(settings, Settings), built)], openapi_config=None)
            return ending.enter_context(TestClient(app))

        yield make


@pytest.fixture
def client(make_client: MakeClient) -> TestClient[Litestar]:
    return make_client()
