"""anon.must-refuse: sessions that are no longer valid get no token."""

from __future__ import annotations

from functools import partial

from chatkey_check.calls.sessions import Session
from chatkey_check.exchange import Exchange
from chatkey_check.judging.alternating import alternating
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import NOBODY, Finding, Severity, Skipped
from chatkey_check.run import Run
from chatkey_check.words import plural

EACH = 4
"""Number of calls with each session, because only one of several workers may accept the session."""


@check(
    "anon.must-refuse",
    group=NOBODY,
    severity=Severity.MUST,
    section="4.7",
    sent=f"{EACH} calls with each session of --must-refuse",
    passes="no token, and no status of 500 or above",
    hint="Before you sign, check that the session has not expired, and that the account may still log in.",
    mistakes=(
        "the session is found, but its expiry is not checked",
        "the account was deleted or blocked, and its sessions were kept",
        "the password was right, and the second factor is still missing",
    ),
    needs=("anon.null",),
)
def must_refuse(run: Run) -> Finding:
    """A token lets a person chat for an hour, even if the account was blocked a moment ago."""
    calls = run.calls
    headers = calls.target.must_refuse
    if not headers:
        raise Skipped("sessions that must get no token are needed", "--must-refuse 'Cookie: …'")
    sessions = [Session(f"session {number}", [one], home=calls.target.url) for number, one in enumerate(headers, 1)]
    asks = [partial(calls.ask, f"{one.name} of --must-refuse", one) for one in sessions for _ in range(EACH)]
    answers = list(calls.ask_each(asks))
    for number, session in enumerate(sessions):
        found = alternating(answers[number * EACH :][:EACH], partial(_refused, session))
        if found is not None:
            return found
    return passed(f"{plural(len(sessions), 'session')} refused")


def _refused(session: Session, answer: Exchange) -> Finding:
    if answer.minted:
        return failed(f"The {session.name} of --must-refuse gets a token.", answer)
    if answer.fails:
        return failed(f"The call with {session.name} of --must-refuse fails ({answer.result}).", answer)
    if answer.limited:
        raise Skipped(f"the call with {session.name} of --must-refuse is over a limit ({answer.result})")
    return passed()
