"""Tests of how consecutive messages of one author are grouped.

In a group, the first message shows the name and the last shows the time.
"""

from __future__ import annotations

import pytest

from chatkey_protocol.frames import Sender
from chatkey_widget.groups import TOGETHER_SECONDS, Placed, placed
from chatkey_widget.view import Line


def line(at: float, sender: Sender = "agent", name: str | None = "Maya") -> Line:
    return Line(f"m{at}", sender, "Hello", at, name=name)


def shape(*lines: Line) -> str:
    """Draw the groups: one dot for each message, `(` before the first and `)` after the last message of each group."""
    return "".join("(" * each.is_first + "." + ")" * each.is_last for each in placed(lines))


def test_no_messages_form_no_group() -> None:
    assert list(placed(())) == []


def test_a_message_alone_is_first_and_last() -> None:
    only = line(0)

    assert list(placed((only,))) == [Placed(only, is_first=True, is_last=True)]


def test_messages_of_one_author_within_minutes_form_a_group() -> None:
    assert shape(line(0), line(60), line(120)) == "(...)"


def test_each_author_has_a_group() -> None:
    assert shape(line(0), line(1), line(2, "customer", None), line(3)) == "(..)(.)(.)"


def test_two_agents_are_two_authors() -> None:
    assert shape(line(0), line(1, name="Tomás"), line(2, name=None)) == "(.)(.)(.)"


def test_own_messages_form_a_group_under_any_name() -> None:
    """The unsent message has no name yet. The stored message has the name from the token."""
    assert shape(line(0, "customer", "Ada"), line(1, "customer", None), line(2, "customer", "Ada King")) == "(...)"


@pytest.mark.parametrize(
    ("seconds", "groups"), [(TOGETHER_SECONDS, "(..)"), (TOGETHER_SECONDS + 1, "(.)(.)"), (-TOGETHER_SECONDS, "(..)")]
)
def test_a_pause_begins_a_new_group(seconds: float, groups: str) -> None:
    """The pause is measured from the previous message.

    By the page's clock, an unsent message may seem older than the previous message.
    """
    assert shape(line(0), line(seconds)) == groups


def test_a_group_without_pauses_has_no_limit_in_time() -> None:
    assert shape(*(line(each * 200) for each in range(5))) == "(.....)"
