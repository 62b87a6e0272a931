"""req.get-refused: only POST returns a token, and never in a form that another site can load as a script."""

from __future__ import annotations

from functools import partial

from chatkey_check.evidence.leaks import whole
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.judging.shapes import of_own_shape
from chatkey_check.model import BAD_REQUESTS, Finding, Severity
from chatkey_check.reading import holds_bound_token, holds_token
from chatkey_check.run import Run

CALLBACK = "chatkeyCheck"
WITH_BODY = ("PUT", "PATCH", "DELETE")
WITHOUT_BODY = ("OPTIONS", "HEAD")


@check(
    "req.get-refused",
    group=BAD_REQUESTS,
    severity=Severity.SHOULD,
    section="4.7",
    sent="GET with ?jkt=…, also with ?callback=…; the same by OPTIONS and HEAD; and the normal call by PUT, PATCH and "
    "DELETE; all logged in",
    passes="no token in any form; the usual answer is 405 or 404",
    hint="Accept only POST.",
    mistakes=(
        "the route accepts every method",
        "JSONP support from the time before CORS is still active",
    ),
    mend={
        "Python": '@app.post("/chat/token")\ndef chat_token(): ...',
        "Node.js": 'app.post("/chat/token", express.json(), chatToken);',
        "PHP": "if ($_SERVER['REQUEST_METHOD'] !== 'POST') { http_response_code(405); exit; }",
    },
    needs=("jwt.compact",),
)
def get_refused(run: Run) -> Finding:
    """The answer to a GET may be cached or prefetched, and the URL of a GET is written to logs."""
    calls = run.calls
    if not calls.target.shape.is_example:
        return of_own_shape("whose method is your choice")
    jkt = ("jkt", calls.new_jkt())
    script = calls.ask("by GET, as a script", calls.member, method="GET", query=(jkt, ("callback", CALLBACK)))
    if holds_token(script.text) and CALLBACK in script.text:
        hint = "Remove JSONP: a page of any site can load this script and gets your customer's token."
        return failed("GET with ?callback= returns a script with a token (JSONP).", script, hint=hint)
    if script.timed_out:
        return warned("GET gets no answer.", script)
    answer = calls.ask("by GET", calls.member, method="GET", query=(jkt,))
    if holds_token(answer.text):
        return warned("GET gets a token.", answer)
    if answer.status >= 500:
        return warned(f"GET gets {answer.status}.", answer)
    asks = [
        *(partial(calls.ask, f"by {method}", calls.member, method=method) for method in WITH_BODY),
        *(partial(calls.ask, f"by {method}", calls.member, method=method, query=(jkt,)) for method in WITHOUT_BODY),
    ]
    for other in calls.ask_each(asks):
        if holds_token(other.text) or holds_bound_token(whole(other)):
            return warned(f"{other.request.method} gets a token.", other)
    return passed(f"{answer.status}")
