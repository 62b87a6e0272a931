"""Tests how the builder selects and packs source files."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

from chatkey_build import sources

if TYPE_CHECKING:
    from pathlib import Path

    from tests.build.checkout import Checkout


def test_bytecode_caches_are_not_part_of_the_sources(checkout: Checkout) -> None:
    widget_sim = checkout.widget_sim
    before = sources.everything(widget_sim)

    checkout.write("widget_sim/chatkey_widget/__pycache__/x.pyc", "")

    assert sources.everything(widget_sim) == before


def test_every_kind_of_file_of_the_widget_is_part_of_the_sources(checkout: Checkout) -> None:
    checkout.write("widget_sim/chatkey_widget/browser/widget.css", "")

    found = sources.widget_files(checkout.widget_sim)

    assert "widget.css" in {file.name for file in found}


def test_the_hash_depends_on_names_and_contents_alone(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "a.py").write_text("A = 1\n")
    same = sources.digest(one, [one / "a.py"])

    assert sources.digest(two, [two / "a.py"]) == same
    (two / "a.py").write_text("A = 2\n")
    assert sources.digest(two, [two / "a.py"]) != same
    assert sources.digest(one, [(one / "a.py").rename(one / "b.py")]) != same


def test_the_zip_can_be_imported_from_and_carries_no_time(checkout: Checkout) -> None:
    widget_sim = checkout.widget_sim

    packed = sources.pack(widget_sim, sources.widget_files(widget_sim))

    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert archive.namelist() == ["chatkey_protocol/__init__.py", "chatkey_widget/__init__.py"]
        assert {member.date_time for member in archive.infolist()} == {sources.ZIP_TIME}
