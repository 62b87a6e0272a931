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
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="no 301, 302 or 303, which turn POST into GET; a 307 or 308 on the same origin is a warning",
    hint="Call the final address directly: add or remove the trailing slash in getToken's URL.",
    mistakes=(
        "the route ends with a slash and the address does not, or the reverse",
        "http is redirected to https, or the bare domain to www",
        "a middleware redirects everybody to a login or consent page",
    ),
    needs=("net.latency",),
)
def no_redirect(run: Run) -> Finding:
    """A browser that follows a 302 repeats the call as a GET without the body."""
    answer = run.calls.first
    if answer.redirected:
        where = answer.location
        if origin(where) != origin(answer.request.url):
            hint = "Answer on the page's origin: a browser blocks the redirect to another origin."
            return failed(f"The endpoint redirects ({answer.status}) to another origin: {where}.", answer, hint=hint)
        if "login" in where.lower() or "signin" in where.lower():
            hint = "The session that you passed is not logged in, or its cookie is not sent to this path."
            return failed(f"The endpoint redirects ({answer.status}) to {where}, a login page.", answer, hint=hint)
        return failed(f"The endpoint redirects ({answer.status}) to {where}.", answer)
    if answer.hops:
        return warned(f"The endpoint redirects to {answer.hops[-1]}, with the same method and body.", answer)
    return passed()
