"""Records the messages of a case as evidence, without secrets and tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from chatkey_peer.redaction import redact

SHOWN: Final = 600
MOST_STEPS: Final = 12
PRIVATE: Final = frozenset({"token", "proof", "auth_token"})


@dataclass(frozen=True)
class Step:
    """One request or frame that was sent, and the answer."""

    sent: str
    came: str = ""


@dataclass
class Transcript:
    """The latest steps of a case. `secrets` returns the texts that are masked everywhere."""

    secrets: Callable[[], Iterable[str]] = tuple
    steps: list[Step] = field(default_factory=list)

    def note(self, sent: str, came: str = "") -> None:
        self.steps.append(Step(self.masked(sent), self.masked(came)))
        del self.steps[:-MOST_STEPS]

    def masked(self, text: str) -> str:
        """Shorten a text, and mask the tokens and secrets in the text."""
        return masked(text, self.secrets())


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """Mask secrets, tokens and states, shorten long text, and escape terminal control characters."""
    text = redact(text, secrets)
    if len(text) > SHOWN:
        text = f"{text[:SHOWN]}… ({len(text)} characters)"
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def frame_text(frame: Any) -> str:
    """Return a frame as text, with each secret replaced by its length."""
    if not isinstance(frame, dict):
        return frame if isinstance(frame, str) else repr(frame)
    return json.dumps(
        {name: _hidden(value) if name in PRIVATE else value for name, value in frame.items()}, default=str
    )


def _hidden(value: object) -> object:
    return f"[{len(value)} characters]" if isinstance(value, str) else value
