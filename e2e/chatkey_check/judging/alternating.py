"""Compares answers to calls of one kind. If one of several workers is wrong, such answers alternate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Exchange
from chatkey_check.judging.findings import WORKERS
from chatkey_check.model import Finding, Verdict


def alternating(
    answers: Iterable[Exchange], judge: Callable[[Exchange], Finding], *, hint: str = WORKERS
) -> Finding | None:
    """Judge answers to the same call. Return the first finding, or None if all answers pass.

    If only some answers pass, the message says that the answers alternate, and how many are wrong.
    """
    found = [judge(answer) for answer in answers]
    wrong = [finding for finding in found if finding.verdict is not Verdict.PASS]
    if not wrong:
        return None
    if len(wrong) == len(found):
        return wrong[0]
    message = f"The answers alternate: {len(wrong)} of {len(found)} are wrong. {wrong[0].message}"
    return replace(wrong[0], message=message, hint=f"{hint} {wrong[0].hint or ''}".rstrip())


def repeats_alternate(calls: Calls, judge: Callable[[Exchange], Finding], *, hint: str = WORKERS) -> Finding | None:
    """If some normal calls fail, repeat the first call in a row. Return a finding if its answers alternate.

    The other calls may fail for another reason, such as their jkt. If no repeated call passes, the session may have
    ended. Return None in these cases.
    """

    def right(answer: Exchange) -> bool:
        return judge(answer).verdict is Verdict.PASS

    others = [answer for session, answer in calls.together if session is not calls.nobody] if right(calls.first) else []
    if all(map(right, others)) if right(calls.first) else not right(calls.second):
        return None
    again = calls.repeated(calls.first)
    return alternating(again, judge, hint=hint) if any(map(right, again[1:])) else None
