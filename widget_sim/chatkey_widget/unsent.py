"""The messages that wait for the service, as text in the browser. The next page of the tab sends them."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from chatkey_widget.json_text import read_json
from chatkey_widget.typed_text import tidy
from chatkey_widget.view import Line

Owner = tuple[str, str]
"""The kind of login and the uid of the identity that wrote a message."""

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


def write(messages: Iterable[tuple[Owner, Line]]) -> str | None:
    """Return the messages as text. Return None if there is no message."""
    entries = [[*owner, line.id, line.body, line.sent_at] for owner, line in messages]
    return json.dumps(entries) if entries else None


def read(text: str | None) -> Iterator[tuple[Owner, Line]]:
    """Yield the messages of a text that `write` returned. Anything else in the text is ignored."""
    try:
        entries = read_json(text or "[]")
    except ValueError:
        return
    for entry in entries if isinstance(entries, list) else ():
        match entry:
            case [str(kind), str(uid), str(line_id), str(body), int() | float() as at] if _ID.fullmatch(line_id):
                if shown := tidy(body):
                    yield (kind, uid), Line(line_id, "customer", shown, at, state="sending")
            case _:
                pass
