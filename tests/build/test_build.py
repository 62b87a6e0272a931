"""Tests which files the builder writes, rebuilds or leaves unchanged."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from chatkey_build import is_fresh
from chatkey_build.builder import read

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path

    from tests.build.checkout import Checkout


def test_a_first_build_writes_every_file_and_a_manifest_of_them(checkout: Checkout) -> None:
    made = checkout.build()

    assert read(checkout.widget_sim) == made
    assert is_fresh(checkout.widget_sim)
    on_disk = {file.relative_to(checkout.built).as_posix() for file in checkout.built.rglob("*") if file.is_file()}
    assert on_disk == made.sizes.keys() | {"manifest.json"}
    assert {made.snapshot, made.sources, "sdk.js", "sdk.d.ts", f"{made.pyodide}/pyodide.asm.wasm"} <= made.sizes.keys()
    assert made.lock == {"version": "1.2.3"}


@pytest.mark.contract("D-17/hashed-files", "D-17/sdk")
def test_every_file_name_but_sdk_js_contains_a_hash_of_the_content(checkout: Checkout) -> None:
    made = checkout.build()

    for name in (made.snapshot, made.sources):
        digest = hashlib.sha256((checkout.built / name).read_bytes()).hexdigest()
        assert name == f"widget-{digest[:12]}.{name.rpartition('.')[2]}"
    assert made.pyodide.startswith("pyodide-1.2.3-")


@pytest.mark.contract("D-17/hashed-files")
def test_compressed_siblings_hold_the_same_content(checkout: Checkout) -> None:
    made = checkout.build()

    plain = (checkout.built / made.snapshot).read_bytes()
    assert gzip.decompress((checkout.built / f"{made.snapshot}.gz").read_bytes()) == plain
    assert zstd.decompress((checkout.built / f"{made.snapshot}.zst").read_bytes()) == plain


def test_the_same_sources_give_the_same_bytes_in_any_folder(checkout: Checkout) -> None:
    first = checkout.build()
    contents = {name: (checkout.built / name).read_bytes() for name in first.sizes}

    shutil.rmtree(checkout.built)
    second = checkout.build()

    assert second == first
    assert {name: (checkout.built / name).read_bytes() for name in second.sizes} == contents


def test_an_up_to_date_build_is_left_alone(checkout: Checkout) -> None:
    first = checkout.build()

    second = checkout.build()

    assert second == first
    assert checkout.steps == []


def test_a_change_of_the_widget_makes_a_new_snapshot_and_removes_the_old_one(checkout: Checkout) -> None:
    first = checkout.build()

    checkout.write("widget_sim/chatkey_widget/machine.py", "STATE = 1\n")
    assert not is_fresh(checkout.widget_sim)
    second = checkout.build()

    assert checkout.steps == ["install", "snapshot"]
    assert second.snapshot != first.snapshot
    assert second.pyodide == first.pyodide
    assert not list(checkout.built.glob(f"{first.snapshot}*"))


def test_a_change_of_the_page_keeps_the_snapshot(checkout: Checkout) -> None:
    first = checkout.build()

    checkout.write("widget_sim/page/sdk.js", "// newer")
    second = checkout.build()

    assert "snapshot" not in checkout.steps
    assert second.snapshot == first.snapshot
    assert (checkout.built / "sdk.js").read_text() == "// newer"


def test_another_pyodide_makes_everything_anew(checkout: Checkout) -> None:
    first = checkout.build()

    lock = {"packages": {"node_modules/pyodide": {"version": "1.2.4"}}}
    checkout.write("widget_sim/pyodide/package-lock.json", json.dumps(lock))
    second = checkout.build()

    assert second.pyodide.startswith("pyodide-1.2.4-")
    assert second.snapshot != first.snapshot
    assert not (checkout.built / first.pyodide).exists()


def test_a_missing_file_is_made_again(checkout: Checkout) -> None:
    first = checkout.build()

    (checkout.built / first.snapshot).unlink()
    assert not is_fresh(checkout.widget_sim)
    second = checkout.build()

    assert second == first
    assert is_fresh(checkout.widget_sim)


@pytest.mark.parametrize("manifest", ["", "[]", '{"source": "of another builder"}'])
def test_an_unreadable_manifest_causes_a_new_build(checkout: Checkout, manifest: str) -> None:
    first = checkout.build()

    (checkout.built / "manifest.json").write_text(manifest)

    assert read(checkout.widget_sim) is None
    assert checkout.build() == first


def test_a_failed_build_leaves_no_manifest(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no snapshot")

    monkeypatch.setattr("chatkey_build.builder.make_snapshot", fail)

    with pytest.raises(RuntimeError, match="no snapshot"):
        checkout.build()

    assert not is_fresh(checkout.widget_sim)
    assert not list(checkout.built.glob("tmp*"))


def test_an_edit_during_a_build_causes_another_build(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    def snapshot_while_someone_edits(folder: Path, *, pyodide: Path, sources: Path, output: Path) -> None:
        checkout.write("widget_sim/chatkey_widget/machine.py", "STATE = 1\n")
        checkout.snapshot(folder, pyodide=pyodide, sources=sources, output=output)

    monkeypatch.setattr("chatkey_build.builder.make_snapshot", snapshot_while_someone_edits)

    checkout.build()

    assert not is_fresh(checkout.widget_sim)
