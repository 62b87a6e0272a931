"""Short ways to say what a check found."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Final

from chatkey_e2e.gettoken.exchange import Exchange
from chatkey_e2e.gettoken.model import Blocked, Finding, Judge, Verdict

if TYPE_CHECKING:
    from chatkey_e2e.gettoken.calls.shared import Calls

WORKERS: Final = "Do all workers, or instances, have the same settings and clock?"
ENOUGH = 1.95
"""Below two of a unit, the smaller one says more."""


def passed(message: str = "") -> Finding:
    """Nothing is wrong; `message` may say what was seen."""
    return Finding(Verdict.PASS, message)


def failed(message: str, *about: Exchange, hint: str | None = None) -> Finding:
    """The endpoint does not work, or lets somebody in."""
    return Finding(Verdict.FAIL, message, hint, about)


def warned(message: str, *about: Exchange, hint: str | None = None) -> Finding:
    """The endpoint works, and should do this better."""
    return Finding(Verdict.WARN, message, hint, about)


def also_second(judge: Judge) -> Judge:
    """Judge the second honest call, too, where the first one passes: what answers may be several workers."""

    @wraps(judge)
    def judged(calls: Calls) -> Finding:
        found = judge(calls)
        if found.verdict is not Verdict.PASS or not calls.second.minted:
            return found
        try:
            again = judge(calls.told_by(calls.second))
        except Blocked:
            return found
        if again.verdict is Verdict.PASS:
            return found
        message = f"The first call is answered as it should be, the second is not. {again.message}"
        return replace(again, message=message, hint=f"{WORKERS} {again.hint or ''}".rstrip())

    return judged


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a span of time as a person says it."""
    span = abs(seconds)
    units = ((86_400, "day"), (3600, "hour"), (60, "minute"))
    size, noun = next(((size, noun) for size, noun in units if span >= ENOUGH * size), (1, "second"))
    amount = round(span / size, 1 if size > 1 else 0)
    shown = f"{amount:,.1f}".removesuffix(".0")
    return f"{shown} {noun}{'' if shown == '1' else 's'}"
