"""Reads details of refusals from our server's log: the code, member and cause, which callers do not receive."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chatkey_peer.key import Json
    from chatkey_stack.lab import ServiceLab

VARYING: Final = re.compile(r"\d+ s\b")


class Witness:
    def __init__(self, lab: ServiceLab) -> None:
        self._lab = lab
        self._last = 0

    def seen(self) -> list[str]:
        """Return the refusals since the last call as `kind code member: cause`, without consecutive duplicates.

        A number of seconds in a cause becomes `… s`, because the number depends on the clock.
        """
        events = self._lab.events(after=self._last)
        self._last = max([self._last, *(event["n"] for event in events)])
        lines = [_line(event) for event in events if event["kind"].endswith(".refused")]
        return [line for at, line in enumerate(lines) if at == 0 or line != lines[at - 1]]


def _line(event: Json) -> str:
    facts = event["facts"]
    words = [event["kind"], facts["code"], *([facts["member"]] if facts.get("member") else [])]
    return " ".join(words) + (VARYING.sub("… s", f": {facts['cause']}") if facts.get("cause") else "")
