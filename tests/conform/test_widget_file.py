"""Tests of widget.toml, the file that describes a widget to judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatkey_conform.target import TargetError
from chatkey_conform.widget import describes_widget, read_widget
from chatkey_e2e.aim.widget import take_widget

SAMPLE = Path(__file__).parent / "js_widget" / "widget.toml"


def written(folder: Path, old: str = "", new: str = "") -> Path:
    """Write the sample with one change."""
    text = SAMPLE.read_text()
    assert old in text
    path = folder / "widget.toml"
    path.write_text(text.replace(old, new))
    return path


def test_a_widget_has_a_name_a_script_and_seven_selectors(tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text("3/renewal: next month\n")
    path = written(
        tmp_path, "[widget.selectors]", 'version = "1.2"\n[known_failures]\nfile = "known.txt"\n[widget.selectors]'
    )

    file = read_widget(path)

    assert (file.name, len(file.widget.selectors)) == ("Small widget in JavaScript 1.2", 7)
    assert file.known_failures() == {"3/renewal": "next month"}


def test_only_a_file_without_a_target_describes_a_widget(tmp_path: Path) -> None:
    both = tmp_path / "both.toml"
    both.write_text(f'[target]\nname = "A service"\n{SAMPLE.read_text()}')

    assert describes_widget(SAMPLE)
    assert not describes_widget(both)
    assert not describes_widget(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("http://localhost:8700/widget.js", "dist/widget.js", "write an http or https URL"),
        ('log_out = ".leave"', "", "lacks 'log_out'"),
        ("log_out", "logout", "has 'logout'; the parts are open"),
        ("[widget.selectors]", "revision = 9\n[widget.selectors]", "a revision that this suite scores: 2 and 3"),
        ("name =", "nmae =", "nmae"),
        ("[widget]", "[widget", "widget.toml"),
    ],
    ids=["address", "missing", "unknown", "revision", "member", "toml"],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        read_widget(written(tmp_path, old, new))


def test_a_missing_file_and_an_unreachable_script_are_reported_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="Cannot read"):
        read_widget(tmp_path / "missing.toml")
    with pytest.raises(TargetError, match=r"script_url http://127\.0\.0\.1:9/w\.js cannot be loaded"):
        take_widget(written(tmp_path, "http://localhost:8700/widget.js", "http://127.0.0.1:9/w.js"))
