"""Measures the time until messages are acknowledged or delivered, and reports the times to Locust."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import gevent  # type: ignore[import-untyped]
from gevent.event import Event  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from locust.env import Environment

SETTLE_SECONDS: Final = 10.0
"""How long a stopping user waits for messages in transit."""
LOOK_SECONDS: Final = 0.05
KIND: Final = "socket"


class Lost(Exception):
    """A message was sent, but its acknowledgement or delivery was not seen in time."""


class Book:
    """One metric. Each id is started and ended once. Ids that are still open when their user stops are failures."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._begun: dict[str, float] = {}
        self.watched = Event()
        """Set while a user in this process can end the ids."""

    def begin(self, message_id: str) -> None:
        self._begun[message_id] = time.perf_counter()

    def end(self, environment: Environment, message_id: str) -> None:
        """Stop timing this message, and report the time. Unknown ids are ignored."""
        begun = self._begun.pop(message_id, None)
        if begun is not None:
            report(environment, self._name, begun)

    def is_open(self) -> bool:
        """Return whether any id has not ended."""
        return bool(self._begun)

    def holds(self, message_ids: set[str]) -> bool:
        """Return whether any of these ids has not ended."""
        return not self._begun.keys().isdisjoint(message_ids)

    def close(self, environment: Environment, message_ids: set[str]) -> None:
        """Report as lost those of these messages that have not ended."""
        for message_id in message_ids & self._begun.keys():
            begun = self._begun.pop(message_id)
            report(environment, self._name, begun, Lost(f"did not arrive within {SETTLE_SECONDS:g} s"))


def report(environment: Environment, name: str, begun: float, error: Exception | None = None) -> None:
    """Report to Locust how long an operation took."""
    took = (time.perf_counter() - begun) * 1000
    environment.events.request.fire(  # type: ignore[no-untyped-call]
        request_type=KIND, name=name, response_time=took, response_length=0, exception=error, context={}
    )


def settled(is_open: Callable[[], bool]) -> None:
    """Wait until `is_open` returns false or the timeout is reached."""
    deadline = time.perf_counter() + SETTLE_SECONDS
    while is_open() and time.perf_counter() < deadline:
        gevent.sleep(LOOK_SECONDS)


ACKNOWLEDGED: Final = Book("message acknowledged")
SEEN: Final = Book("message seen by an agent")
ANSWER_ACKNOWLEDGED: Final = Book("answer acknowledged")
ANSWER_SEEN: Final = Book("answer seen by a widget")
"""Sender and receiver are in this process, so both times come from the same clock."""
