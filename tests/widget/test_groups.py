"""Tests of how consecutive messages of one author are grouped.

In a group, the first message shows the name and the last shows the time.
"""

from __future__ import annotations

import pytest

from chatkey_protocol.frames import Sender
from chatkey_widget.groups import TOGETHER_SECONDS, placed
from chatkey_widget.view import Line


def line(at: float, sender: Sender = "agent", name: str | None = "Maya") -> Line:
    return Line(f"m{at}", sender, "Hello", at, name=name)


def shape(*lines: Line) -> str:
    """Draw the groups: one dot for each message, `(` before the first and `)` after the last message of each group."""
    return "".join("(" * each.is_first + "." + ")" * each.is_last for each in placed(lines))


OWN: Sender = "customer"


@pytest.mark.parametrize(
    ("lines", "groups"),
    [
        ((), ""),
        ((line(0),), "(.)"),
        ((line(0), line(60), line(120)), "(...)"),
        ((line(0), line(1), line(2, OWN, None), line(3)), "(..)(.)(.)"),
        ((line(0), line(1, name="Tomás"), line(2, name=None)), "(.)(.)(.)"),
        ((line(0, OWN, "Ada"), line(1, OWN, None), line(2, OWN, "Ada King")), "(...)"),
        ((line(0), line(TOGETHER_SECONDS)), "(..)"),
        ((line(0), line(TOGETHER_SECONDS + 1)), "(.)(.)"),
        ((line(0), line(-TOGETHER_SECONDS)), "(..)"),
        (tuple(line(each * 200) for each in range(5)), "(.....)"),
    ],
    ids=[
        *("nothing", "one", "one author", "two authors", "two agents", "own under any name", "a pause"),
        *("a longer pause", "unsent by the page's clock", "no limit in time"),
    ],
)
def test_messages_of_one_author_without_a_pause_form_a_group(lines: tuple[Line, ...], groups: str) -> None:
    assert shape(*lines) == groups
