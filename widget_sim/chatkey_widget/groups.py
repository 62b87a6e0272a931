"""Groups consecutive messages of one author, so that name and time are shown once per group."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from chatkey_widget.view import Line

TOGETHER_SECONDS: Final = 300.0
"""The longest time in seconds between two messages of one group."""


class Placed(NamedTuple):
    """A message and its place in a group. The first message of a group shows the name, and the last shows the time."""

    line: Line
    is_first: bool = True
    is_last: bool = True


def placed(lines: tuple[Line, ...]) -> Iterator[Placed]:
    """Assign messages to groups. The messages must be in order."""
    begins = [True, *(not _belong_together(before, line) for before, line in pairwise(lines)), True]
    for line, (is_first, is_last) in zip(lines, pairwise(begins), strict=False):
        yield Placed(line, is_first, is_last)


def _belong_together(before: Line, line: Line) -> bool:
    return _author(before) == _author(line) and abs(line.sent_at - before.sent_at) <= TOGETHER_SECONDS


def _author(line: Line) -> tuple[str, str | None]:
    """Return the author for grouping.

    Agents are distinguished by name. All messages of the person have the same author, even if the name changes.
    """
    return line.sender, line.name if line.sender == "agent" else None
