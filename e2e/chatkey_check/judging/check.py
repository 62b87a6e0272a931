"""The `@check` decorator. It combines a function that judges a run with the texts that explain the check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from types import MappingProxyType

from chatkey_check.calls.token import Token
from chatkey_check.exchange import Exchange
from chatkey_check.judging.alternating import alternating
from chatkey_check.judging.findings import passed
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


def every_token(judge: TokenJudge) -> Judge:
    """Judge the tokens of all normal calls. Different workers may answer the calls, and different kinds of people may
    log in.

    If the tokens of the first two calls are wrong in the same way, no further calls are made.
    """

    @wraps(judge)
    def judged(run: Run) -> Finding:
        calls = run.calls
        found = judge(run, calls.token)
        if found.verdict is not Verdict.PASS and not _right(judge, run, calls.second):
            return found
        found = alternating(calls.answers_to(calls.member), partial(_verdict, judge, run)) or found
        if found.verdict is not Verdict.PASS or calls.target.login_b is None:
            return found
        answers = [answer for answer in calls.answers_to(calls.other) if answer.minted]
        again = alternating(answers, partial(_verdict, judge, run))
        if again is None:
            return found
        all_wrong = not any(_right(judge, run, answer) for answer in answers)
        return replace(again, message=f"{ONE_OF_TWO} {again.message}") if all_wrong else again

    return judged


def every_visitor(judge: AnswerJudge) -> Judge:
    """Judge the answers to all calls of visitors, and then the answer to a visitor's second call with cookies."""

    @wraps(judge)
    def judged(run: Run) -> Finding:
        calls = run.calls
        found = judge(run, calls.anonymous)
        wrong = alternating(calls.answers_to(calls.nobody), partial(judge, run))
        if wrong is not None:
            return wrong
        again = judge(run, calls.returning)
        return found if again.verdict is Verdict.PASS else replace(again, message=f"{SECOND_CALL} {again.message}")

    return judged


def _verdict(judge: TokenJudge, run: Run, answer: Exchange) -> Finding:
    """Judge the token of an answer. An answer that this check cannot judge passes, because another check reports it."""
    if not answer.minted:
        return passed()
    try:
        return judge(run, Token(answer))
    except Blocked:
        return passed()


def _right(judge: TokenJudge, run: Run, answer: Exchange) -> bool:
    return answer.minted and _verdict(judge, run, answer).verdict is Verdict.PASS
