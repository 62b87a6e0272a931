"""How a check is written: a function that judges a run, with what is told of it around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from types import MappingProxyType

from chatkey_e2e.gettoken.calls.token import Token
from chatkey_e2e.gettoken.judging.findings import WORKERS
from chatkey_e2e.gettoken.model import Blocked, Finding, Phase, Question, Severity, Verdict
from chatkey_e2e.gettoken.run import Run

Judge = Callable[[Run], Finding]
TokenJudge = Callable[[Run, Token], Finding]


@dataclass(frozen=True, slots=True)
class Check(Question):
    """A question with what answers it."""

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
    """Make a check of the function that judges it; the function's docstring says why it matters."""

    def made(judge: Judge) -> Check:
        why = " ".join((judge.__doc__ or "").split())
        return Check(name, group, severity, section, sent, passes, hint, why, mistakes, mend, needs, phase, judge)

    return made


def also_second(judge: TokenJudge) -> Judge:
    """Judge the token of the honest call, and if it passes that of the second: several workers may answer."""

    @wraps(judge)
    def judged(run: Run) -> Finding:
        found = judge(run, run.calls.token)
        if found.verdict is not Verdict.PASS or not run.calls.second.minted:
            return found
        try:
            again = judge(run, Token(run.calls.second))
        except Blocked:
            return found
        if again.verdict is Verdict.PASS:
            return found
        message = f"The first call is answered as it should be, the second is not. {again.message}"
        return replace(again, message=message, hint=f"{WORKERS} {again.hint or ''}".rstrip())

    return judged
