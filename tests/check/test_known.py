"""Tests of reading the file of known failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatkey_check import checks
from chatkey_check.model import Outcome, Verdict
from chatkey_check.running import known
from chatkey_check.target import OptionError

AVATAR = checks.load_one("claim.avatar")


def test_lines_are_ids_with_reasons_and_comments_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "known.txt"
    file.write_text(
        "# what we live with\n\nclaim.avatar: pictures come by http in the lab\n  resp.no-store:  a proxy\n"
    )

    read = known.read(file)

    assert read.reason(Outcome(AVATAR, Verdict.FAIL)) == "pictures come by http in the lab"
    assert read.reason(Outcome(AVATAR, Verdict.WARN)) == "pictures come by http in the lab"
    assert read.reason(Outcome(AVATAR, Verdict.PASS)) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("claim.avatar\n", "line 1: write the id, a colon and the reason"),
        ("claim.avatar: a\nclaim.avatar: b\n", "line 2: claim.avatar is listed twice"),
        ("nonsense\n", "line 1: write the id"),
    ],
)
def test_a_line_without_a_reason_or_twice_is_refused_with_its_number(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "known.txt"
    file.write_text(text)

    with pytest.raises(OptionError, match=message):
        known.read(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"Cannot read the file of known failures: .*nowhere\.txt"):
        known.read(tmp_path / "nowhere.txt")


@pytest.mark.parametrize(
    ("verdict", "complaint"),
    [
        (Verdict.PASS, "it passes now"),
        (Verdict.SKIP, "it was not judged in this run (skip)"),
        (Verdict.BLOCKED, "it was not judged in this run (blocked)"),
    ],
)
def test_an_entry_that_excuses_nothing_is_stale(verdict: Verdict, complaint: str) -> None:
    stale = known.Known({"claim.avatar": "once"}).stale([Outcome(AVATAR, verdict)])

    assert len(stale) == 1
    assert stale[0].startswith(f"claim.avatar: {complaint}")


def test_an_entry_that_is_needed_is_not_stale() -> None:
    assert known.Known({"claim.avatar": "lab"}).stale([Outcome(AVATAR, Verdict.FAIL)]) == ()
