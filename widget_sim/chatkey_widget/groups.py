"""Messages that one author wrote one after the other: name and time are said once for all of them."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from chatkey_widget.view import Line

TOGETHER_SECONDS: Final = 300.0
"""A message that comes later than this after the one before it begins a group of its own."""


class Placed(NamedTuple):
    """A message, and whether it is the first or the last of its group: the first has the name, the last the time."""

    line: Line
    is_first: bool = True
    is_last: bool = True


def placed(lines: tuple[Line, ...]) -> Iterator[Placed]:
    """Place messages, which are in order, in their groups."""
    begins = [True, *(not _belong_together(before, line) for before, line in pairwise(lines)), True]
    for line, (is_first, is_last) in zip(lines, pairwise(begins), strict=False):
        yield Placed(line, is_first, is_last)


def _belong_together(before: Line, line: Line) -> bool:
    return _author(before) == _author(line) and abs(line.sent_at - before.sent_at) <= TOGETHER_SECONDS


def _author(line: Line) -> tuple[str, str | None]:
    """One's own messages are one's own, whatever name they were sent under; agents are told apart by theirs."""
    return line.sender, line.name if line.sender == "agent" else None
