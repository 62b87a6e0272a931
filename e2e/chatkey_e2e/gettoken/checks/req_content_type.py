"""req.content-type: only JSON that says so is accepted."""

from __future__ import annotations

from chatkey_e2e.gettoken.calls import Calls
from chatkey_e2e.gettoken.findings import passed, warned
from chatkey_e2e.gettoken.model import BAD_REQUESTS, Finding, Severity, check

SIMPLE = ("text/plain", "application/x-www-form-urlencoded")


@check(
    "req.content-type",
    group=BAD_REQUESTS,
    severity=Severity.SHOULD,
    section="4.7",
    sent="the same JSON as text/plain, and as a form",
    passes="no token",
    hint="Require application/json: a page of another site cannot send that without a CORS preflight.",
    mistakes=("the body is parsed whatever it says it is: force=True, or type: () => true",),
    mend={
        "Python": 'if request.mimetype != "application/json":\n    abort(415)',
        "Node.js": 'if (!request.is("application/json")) return response.sendStatus(415);',
        "PHP": "if ($_SERVER['CONTENT_TYPE'] !== 'application/json') { http_response_code(415); exit; }",
    },
    needs=("jwt.compact",),
)
def content_type(calls: Calls) -> Finding:
    """Forms and plain text may be sent from any page, with your visitor's cookies."""
    for kind in SIMPLE:
        answer = calls.ask(f"the JSON as {kind}", calls.member, content_type=kind)
        if answer.minted:
            return warned(f"A body that says {kind} gets a token.", answer)
    return passed()
