"""anon.no-5xx: the call of a visitor does not crash the handler."""

from __future__ import annotations

from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check, every_visitor
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import NOBODY, Finding, Severity
from chatkey_check.run import Run


@check(
    "anon.no-5xx",
    group=NOBODY,
    severity=Severity.MUST,
    section="4.7",
    sent='the call of a visitor: POST {"jkt": …} without cookies; then a second call with the cookies that were set',
    passes="a status below 500",
    hint="Check first whether somebody is logged in. At present, the handler reads a user that does not exist.",
    mistakes=("the code reads user.id although user is None, undefined or null",),
    mend={
        "Python": 'if user is None:\n    return {"token": None}',
        "Node.js": "if (!user) return response.json({ token: null });",
        "PHP": "if (!isset($_SESSION['user'])) { exit(json_encode(['token' => null])); }",
    },
    needs=("req.post-json", "req.no-redirect"),
)
@every_visitor
def no_5xx(_run: Run, answer: Exchange) -> Finding:
    """Most people on a page are not logged in. Therefore most calls come from people who are not logged in."""
    if answer.response is None:
        return failed(f"A visitor gets no answer: {answer.broken}.", answer)
    return failed(f"A visitor gets {answer.status}.", answer) if answer.status >= 500 else passed()
