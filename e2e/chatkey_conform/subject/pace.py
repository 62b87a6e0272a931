"""Adapts to the request rate of a service by waiting as `Retry-After` demands."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from chatkey_conform.grades.business import HarnessError
from chatkey_conform.subject.answer import Answer

TRIES: Final = 8
LONGEST_WAIT: Final = 61


class Pace:
    """One rate limit of the service. Cases send in parallel until the first 429, and then one at a time."""

    def __init__(self) -> None:
        self._one_by_one = threading.Lock()
        self._is_used_up = False

    def keep(self, send: Callable[[], Answer]) -> Answer:
        """Send a request, and repeat it after each `Retry-After`. Raises `HarnessError` on a 429 after 8 waits."""
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
        raise HarnessError(f"{answer.asked} is still answered with 429 after waiting for Retry-After {TRIES} times")


def _wait(answer: Answer) -> float | None:
    """Return the seconds that the service asks the client to wait, or None if the service names no time.

    Raises `HarnessError` if the wait is too long. The service may ask for a long wait, but then nothing can be judged.
    """
    seconds = answer.retry_after if answer.status == 429 else None
    if seconds is None:
        return None
    if seconds > LONGEST_WAIT:
        raise HarnessError(
            f"Retry-After of {answer.asked} is {seconds:.0f} s; the suite waits {LONGEST_WAIT} s at most: allow more"
        )
    return max(1.0, seconds)
