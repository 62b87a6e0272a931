"""How fast a service takes requests: found out by asking, and then kept to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from chatkey_conform.grades.business import HarnessError
from chatkey_conform.subject.answer import Answer

TRIES: Final = 8
LONGEST_WAIT: Final = 61


class Pace:
    """One allowance of the service's. Cases ask side by side until it is used up, and from then on one by one."""

    def __init__(self) -> None:
        self._one_by_one = threading.Lock()
        self._is_used_up = False

    def keep(self, send: Callable[[], Answer]) -> Answer:
        """Send, and again when the service says that it may be. Raises `HarnessError` where that never comes."""
        if not self._is_used_up:
            answer = send()
            if _wait(answer) is None:
                return answer
            self._is_used_up = True
        with self._one_by_one:
            answer = send()
            for _ in range(TRIES):
                wait = _wait(answer)
                if wait is None:
                    return answer
                threading.Event().wait(wait)
                answer = send()
        raise HarnessError(f"{answer.asked} is still answered with 429 after {TRIES} waits for Retry-After")


def _wait(answer: Answer) -> float | None:
    """Return for how many seconds the service asks one to wait; None where it does not.

    Raises `HarnessError` where that is too long: it is the service's right, and nothing can be judged so.
    """
    seconds = answer.retry_after if answer.status == 429 else None
    if seconds is None:
        return None
    if seconds > LONGEST_WAIT:
        raise HarnessError(f"{answer.asked} may be asked again in {seconds:.0f} s; let the suite ask more often")
    return max(1.0, seconds)
