"""req.extra-ignored: unknown members of the body are ignored."""

from __future__ import annotations

from chatkey_check.calls.shared import Calls
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed, warned
from chatkey_check.judging.shapes import without_body
from chatkey_check.model import BAD_REQUESTS, Blocked, Finding, Severity, Skipped
from chatkey_check.run import Run


@check(
    "req.extra-ignored",
    group=BAD_REQUESTS,
    severity=Severity.SHOULD,
    section="4.7",
    sent='{"jkt": …, "x_unknown": 1}, logged in',
    passes="a token",
    hint="Ignore unknown members, because a newer widget may send more members.",
    mistakes=("a strict schema forbids unknown members",),
    needs=("jwt.compact",),
)
def extra_ignored(run: Run) -> Finding:
    """A widget that is newer than your backend may send more JSON members. A call with such members must still work."""
    calls = run.calls
    return without_body(calls) or _judged(calls)


def _judged(calls: Calls) -> Finding:
    answer = calls.ask("an additional member", calls.member, more={"x_unknown": 1})
    if answer.minted:
        return passed()
    if answer.limited:
        raise Skipped(f"a call with an additional member is over a limit ({answer.result})")
    if calls.unknown_again is not None:
        raise Blocked("resp.session-kept")
    return warned(f"A call with an additional member got no token ({answer.result}).", answer)
