"""What was sent, acknowledged and seen in this generator, reported as Locust reports requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import gevent  # type: ignore[import-untyped]
from gevent.event import Event  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from locust.env import Environment

SETTLE_SECONDS: Final = 10.0
"""How long what is under way is waited for when a user stops."""
LOOK_SECONDS: Final = 0.05
KIND: Final = "socket"


class Lost(Exception):
    """Something was sent, and nobody heard of it in time."""


class Book:
    """One figure: each id is begun once and ended once; what has not ended when its user stops is a failure."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._begun: dict[str, float] = {}
        self.watched = Event()
        """Set while there is somebody in this process who ends it."""

    def begin(self, message_id: str) -> None:
        """Note that something is sent."""
        self._begun[message_id] = time.perf_counter()

    def end(self, environment: Environment, message_id: str) -> None:
        """Report it; what was not begun here, or has ended, is passed over."""
        begun = self._begun.pop(message_id, None)
        if begun is not None:
            report(environment, self._name, begun)

    def is_open(self) -> bool:
        """Tell whether anything has not ended."""
        return bool(self._begun)

    def holds(self, message_ids: set[str]) -> bool:
        """Tell whether any of these has not ended."""
        return not self._begun.keys().isdisjoint(message_ids)

    def close(self, environment: Environment, message_ids: set[str]) -> None:
        """Report those of the ids that have not ended as lost."""
        for message_id in message_ids & self._begun.keys():
            begun = self._begun.pop(message_id)
            report(environment, self._name, begun, Lost(f"not within {SETTLE_SECONDS:g} s"))


def report(environment: Environment, name: str, begun: float, error: Exception | None = None) -> None:
    """Tell Locust how long something took."""
    took = (time.perf_counter() - begun) * 1000
    environment.events.request.fire(  # type: ignore[no-untyped-call]
        request_type=KIND, name=name, response_time=took, response_length=0, exception=error, context={}
    )


def settled(is_open: Callable[[], bool]) -> None:
    """Wait until nothing is open any more, or it takes too long."""
    deadline = time.perf_counter() + SETTLE_SECONDS
    while is_open() and time.perf_counter() < deadline:
        gevent.sleep(LOOK_SECONDS)


ACKNOWLEDGED: Final = Book("message acknowledged")
SEEN: Final = Book("message seen by an agent")
ANSWER_ACKNOWLEDGED: Final = Book("answer acknowledged")
ANSWER_SEEN: Final = Book("answer seen by a widget")
"""Both ends are in this process, so one clock is enough."""
