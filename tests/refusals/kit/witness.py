"""Reads what our server logs of a refusal and does not tell the caller: the exact code, the member and the cause."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chatkey_peer.key import Json
    from chatkey_stack.lab import ServiceLab

VARYING: Final = re.compile(r"\d+ s\b")


class Witness:
    """Reads the refusals that the server logs."""

    def __init__(self, lab: ServiceLab) -> None:
        self._lab = lab
        self._last = 0

    def seen(self) -> list[str]:
        """Return the refusals since the last call, each as `kind code member: cause`; equal ones in a row once.

        Numbers of seconds in a cause are replaced with `… s`, as they depend on the clock.
        """
        events = self._lab.events(after=self._last)
        self._last = max([self._last, *(event["n"] for event in events)])
        lines = [_line(event) for event in events if event["kind"].endswith(".refused")]
        return [line for at, line in enumerate(lines) if at == 0 or line != lines[at - 1]]


def _line(event: Json) -> str:
    facts = event["facts"]
    words = [event["kind"], facts["code"], *([facts["member"]] if facts.get("member") else [])]
    return " ".join(words) + (VARYING.sub("… s", f": {facts['cause']}") if facts.get("cause") else "")
