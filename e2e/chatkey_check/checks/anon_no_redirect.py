"""anon.no-redirect: a visitor is not redirected to the login page."""

from __future__ import annotations

from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check, every_visitor
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import NOBODY, Finding, Severity
from chatkey_check.run import Run


@check(
    "anon.no-redirect",
    group=NOBODY,
    severity=Severity.MUST,
    section="4.7",
    sent='the call of a visitor: POST {"jkt": …} without cookies; then a second call with the cookies that were set',
    passes="no 3xx, unless the logged-in call gets the same",
    hint='Exempt the route from the redirect to the login page, and answer {"token": null}.',
    mistakes=("@login_required, or a guard for the whole site, covers the route",),
    mend={
        "Python": 'if user is None:\n    return {"token": None}',
        "Node.js": "if (!user) return response.json({ token: null });",
        "PHP": "if (!isset($_SESSION['user'])) { exit(json_encode(['token' => null])); }",
    },
    needs=("req.post-json", "req.no-redirect"),
)
@every_visitor
def no_redirect(run: Run, answer: Exchange) -> Finding:
    """The page's script follows the redirect and reads the login page instead of an answer."""
    calls = run.calls
    if answer.redirected:
        return failed(f"A visitor is redirected to {answer.location} ({answer.status}).", answer)
    if answer.hops and calls.target.login is not None and calls.first.hops != answer.hops:
        return failed(f"A visitor is redirected to {answer.hops[-1]}, and a member is not.", answer)
    return passed()
