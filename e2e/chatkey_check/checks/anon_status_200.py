"""anon.status-200: a visitor gets a success status, because not being logged in is no error."""

from __future__ import annotations

from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check, every_visitor
from chatkey_check.judging.findings import passed, warned
from chatkey_check.model import NOBODY, Finding, Severity
from chatkey_check.run import Run


@check(
    "anon.status-200",
    group=NOBODY,
    severity=Severity.SHOULD,
    section="3, 4.7",
    sent='the call of a visitor: POST {"jkt": …} without cookies; then a second call with the cookies that were set',
    passes="a 2xx status",
    hint='Answer 200 with {"token": null}. Another status works only if your getToken turns the status into null.',
    mistakes=("a guard in front of the route answers 401",),
    mend={
        "Python": 'return {"token": None}',
        "Node.js": "response.json({ token: null });",
        "PHP": "echo json_encode(['token' => null]);",
    },
    needs=("anon.no-redirect", "anon.no-5xx"),
)
@every_visitor
def status_200(_run: Run, answer: Exchange) -> Finding:
    """If getToken throws, the widget calls getToken again at growing intervals for as long as the page is open."""
    if answer.succeeded:
        return passed()
    if answer.status in {403, 419} and "csrf" in answer.text.lower():
        hint = "Your CSRF protection refuses visitors. Send the CSRF token for visitors too, or exempt the route."
        return warned(f"A visitor gets {answer.status}: the CSRF token is missing.", answer, hint=hint)
    if answer.asks_for_password:
        hint = "Answer without WWW-Authenticate: with 401 and Basic, the browser asks for a password on every page."
        return warned("A visitor gets 401 with Basic, so the browser asks for a password.", answer, hint=hint)
    if answer.throttled:
        hint = "Raise the rate limit for visitors: most people on a page are not logged in."
        return warned(f"A visitor gets {answer.status}, and a member gets an answer.", answer, hint=hint)
    return warned(f"A visitor gets {answer.status}.", answer)
