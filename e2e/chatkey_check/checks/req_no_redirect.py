"""req.no-redirect: the call is answered without a redirect."""

from __future__ import annotations

from chatkey_check.exchange import origin
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.model import ANSWERS, Finding, Severity
from chatkey_check.run import Run


@check(
    "req.no-redirect",
    group=ANSWERS,
    severity=Severity.MUST,
    section="4.7",
    sent='the honest call: POST {"jkt": …} as the login',
    passes="no 301, 302 or 303, which turn POST into GET; a 307 or 308 on the same origin is a warning",
    hint="Call the address that answers: add or remove the trailing slash in getToken's URL.",
    mistakes=(
        "the route ends with a slash, the address does not, or the other way round",
        "http is redirected to https, or the bare domain to www",
        "a middleware sends everybody to a login or consent page",
    ),
    needs=("net.latency",),
)
def no_redirect(run: Run) -> Finding:
    """A browser that follows a 302 repeats the call as a GET without the body."""
    answer = run.calls.first
    if answer.redirected:
        where = answer.location
        if origin(where) != origin(answer.request.url):
            hint = "Answer on this origin; the call is not followed to another one, and a browser would block it."
            return failed(f"{answer.status} leads to another origin: {where}.", answer, hint=hint)
        if "login" in where.lower() or "signin" in where.lower():
            hint = "The session you passed is not logged in, or does not reach this path."
            return failed(f"{answer.status} leads to {where}, a login page.", answer, hint=hint)
        return failed(f"{answer.status} leads to {where}.", answer)
    if answer.hops:
        return warned(f"The call is redirected to {answer.hops[-1]}; method and body are kept.", answer)
    return passed()
