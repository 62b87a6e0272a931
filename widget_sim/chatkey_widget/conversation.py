"""The messages and calls of one identity, as this page knows them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from chatkey_widget.frame_members import number, text
from chatkey_widget.view import CallShown, Line

_LAST: Final = 1 << 60


@dataclass(slots=True)
class Conversation:
    """The messages and calls of one identity in this page."""

    lines: dict[str, Line] = field(default_factory=dict)
    flying: dict[str, None] = field(default_factory=dict)
    """The ids of the messages that were sent on this connection and are not answered yet, in order."""
    tries: Counter[str] = field(default_factory=Counter)
    """How many connections in a row broke while a message was the only one that was not answered."""
    more: bool = False
    loaded: bool = False
    unread: int = 0
    query: str = ""
    found: tuple[Line, ...] | None = None
    call: CallShown = "none"
    history_id: str = ""
    search_id: str = ""
    call_id: str = ""

    @property
    def unsent(self) -> tuple[Line, ...]:
        """The messages that the server has not acknowledged, oldest first."""
        return tuple(line for line in self.lines.values() if line.state == "sending")

    @property
    def is_searching(self) -> bool:
        """Whether a search is not answered yet."""
        return bool(self.query) and self.found is None

    def numbers(self) -> list[int]:
        """Return the numbers of the known messages, newest first."""
        return sorted((line.seq for line in self.lines.values() if line.seq is not None), reverse=True)

    def gap(self) -> int | None:
        """Return the number just above the newest gap, or None. The server numbers messages without gaps."""
        return next((above for above, below in pairwise(self.numbers()) if below < above - 1), None)

    def in_order(self) -> tuple[Line, ...]:
        """Return the messages in the server's order. Unacknowledged messages come last."""
        return tuple(sorted(self.lines.values(), key=lambda line: _LAST if line.seq is None else line.seq))


def line_of(entry: Mapping[str, object]) -> Line:
    """Return a message of the server as a line. Raises `UnreadableFrame`."""
    name = entry.get("name")
    return Line(
        id=text(entry, "id"),
        sender="agent" if text(entry, "sender") == "agent" else "customer",
        body=text(entry, "body"),
        sent_at=number(entry, "sent_at"),
        name=name if isinstance(name, str) else None,
        seq=int(number(entry, "seq")),
    )
