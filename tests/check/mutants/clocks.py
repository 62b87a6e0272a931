"""Endpoints whose clock is wrong, on the server that signs, in the Date header, or in both."""

from __future__ import annotations

from typing import Any

from tests.check.mutants.mutant_backend import BROKEN, UNUSUAL, Backend, Claims, register
from tests.check.mutants.mutant_server import Answer


def clock(name: str, token: float, date: float | None = None) -> None:
    """Register a backend whose tokens and `Date` are so many seconds ahead. Without `date`, there is no `Date`."""

    class Clocked(Backend):
        def dated(self, answer: Answer) -> Answer:
            answer.date = None if date is None else self.clock.now() + date
            return answer

        def claims(self, person: Claims, jkt: Any) -> Claims:
            made = super().claims(person, jkt)
            return {**made, "iat": int(made["iat"] + token), "exp": int(made["exp"] + token)}

    register(BROKEN if name.islower() else UNUSUAL)(name)(Clocked)


MINUTE = 60
clock("clock-ahead", 10 * MINUTE, 10 * MINUTE)
clock("clock-a-minute-behind", -MINUTE, -MINUTE)
for minutes in (6, 56, 62):
    clock(f"clock-{minutes}-minutes-behind", -minutes * MINUTE, -minutes * MINUTE)
    clock(f"clock-{minutes}-minutes-behind-a-proxy", -minutes * MINUTE, 0)
    clock(f"clock-{minutes}-minutes-behind-without-date", -minutes * MINUTE)
clock("clock-ahead-of-proxy", 6 * MINUTE, 0)
clock("clock-two-hours-behind", -120 * MINUTE, -120 * MINUTE)
clock("proxy-two-hours-ahead", 0, 120 * MINUTE)
clock("ClockSlow", 20, 20)
clock("ClockSlowWithoutDate", 20)
clock("ClockBehindSlightly", -25, -25)
clock("ClockBehindProxy", -4 * MINUTE, 0)
