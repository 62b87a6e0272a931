"""The `@check` decorator. It combines a function that judges a run with the texts that explain the check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from types import MappingProxyType

from chatkey_check.calls.token import Token
from chatkey_check.exchange import Exchange
from chatkey_check.judging.findings import WORKERS
from chatkey_check.model import Blocked, Finding, Phase, Question, Severity, Verdict
from chatkey_check.run import Run

Judge = Callable[[Run], Finding]
TokenJudge = Callable[[Run, Token], Finding]
AnswerJudge = Callable[[Run, Exchange], Finding]
SECOND_CALL = "The first call of a visitor is answered correctly, but the second call is not."
ONE_OF_TWO = "The first login's token is correct, but the second login's is not."


@dataclass(frozen=True, slots=True)
class Check(Question):
    """A question, with the function that answers the question."""

    judge: Judge = field(repr=False)


def check(
    name: str,
    *,
    group: str,
    severity: Severity,
    sent: str,
    passes: str,
    hint: str,
    mistakes: tuple[str, ...],
    mend: Mapping[str, str] = MappingProxyType({}),
    section: str = "",
    needs: tuple[str, ...] = (),
    phase: Phase = Phase.FIRST,
) -> Callable[[Judge], Check]:
    """Make a check from a function that judges a run. The function's docstring says why the check matters."""

    def made(judge: Judge) -> Check:
        why = " ".join((judge.__doc__ or "").split())
        return Check(name, group, severity, section, sent, passes, hint, why, mistakes, mend, needs, phase, judge)

    return made


def also_second(judge: TokenJudge) -> Judge:
    """Judge the token of the normal call.

    If that token passes, also judge the tokens of the second call and of the second login. Different workers may answer
    the calls, and different kinds of people may log in.
    """

    @wraps(judge)
    def judged(run: Run) -> Finding:
        found = judge(run, run.calls.token)
        if found.verdict is not Verdict.PASS:
            return found
        again = _wrong(judge, run, run.calls.second)
        if again is not None:
            message = f"The first answer is correct, but the second is not. {again.message}"
            return replace(again, message=message, hint=f"{WORKERS} {again.hint or ''}".rstrip())
        again = _wrong_for_other(judge, run)
        return found if again is None else replace(again, message=f"{ONE_OF_TWO} {again.message}")

    return judged


def also_returning(judge: AnswerJudge) -> Judge:
    """Judge the answer to a visitor's first call and, if that answer passes, the answer to the second call."""

    @wraps(judge)
    def judged(run: Run) -> Finding:
        found = judge(run, run.calls.anonymous)
        if found.verdict is not Verdict.PASS:
            return found
        again = judge(run, run.calls.returning)
        return found if again.verdict is Verdict.PASS else replace(again, message=f"{SECOND_CALL} {again.message}")

    return judged


def _wrong(judge: TokenJudge, run: Run, answer: Exchange) -> Finding | None:
    """Return the finding if the token in this answer fails the check, otherwise None."""
    if not answer.minted:
        return None
    try:
        found = judge(run, Token(answer))
    except Blocked:
        return None
    return None if found.verdict is Verdict.PASS else found


def _wrong_for_other(judge: TokenJudge, run: Run) -> Finding | None:
    """Return the finding if every token of the second login fails. If only some fail, one worker may be the cause."""
    calls = run.calls
    if calls.target.login_b is None:
        return None
    found = _wrong(judge, run, calls.of_other)
    if found is None or not all(_wrong(judge, run, answer) for answer in calls.of_other_again):
        return None
    return found
