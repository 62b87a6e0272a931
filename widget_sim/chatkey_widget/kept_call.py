"""What the next page of the tab needs of a call, as text in the browser: which call it is, and the person's choices."""

import json
from dataclasses import asdict, dataclass

from chatkey_widget.json_text import read_json


@dataclass(frozen=True, slots=True)
class KeptCall:
    """`started` is the id of the frame that started the call. An empty device is the browser's own choice."""

    started: str
    answered_at: float = 0.0
    muted: bool = False
    microphone: str = ""
    speaker: str = ""

    def write(self) -> str:
        return json.dumps(asdict(self))


def read(text: str | None) -> KeptCall | None:
    """Return the call of a text that `write` returned. Anything else in the text is ignored."""
    try:
        kept = read_json(text or "null")
    except ValueError:
        return None
    match kept:
        case {
            "started": str(started),
            "answered_at": int() | float() as answered_at,
            "muted": bool(muted),
            "microphone": str(microphone),
            "speaker": str(speaker),
        }:
            return KeptCall(started, answered_at, muted, microphone, speaker)
        case _:
            return None
