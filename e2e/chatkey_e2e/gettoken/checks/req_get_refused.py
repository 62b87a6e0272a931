"""req.get-refused: a link gives no token."""

from __future__ import annotations

from chatkey_e2e.gettoken.judging.check import check
from chatkey_e2e.gettoken.judging.findings import passed, warned
from chatkey_e2e.gettoken.model import BAD_REQUESTS, Finding, Severity
from chatkey_e2e.gettoken.run import Run


@check(
    "req.get-refused",
    group=BAD_REQUESTS,
    severity=Severity.SHOULD,
    section="4.7",
    sent="GET with ?jkt=… as the login",
    passes="no token; 405 or 404",
    hint="Route POST only.",
    mistakes=("the route is for every method",),
    mend={
        "Python": '@app.post("/chat/token")\ndef chat_token(): ...',
        "Node.js": 'app.post("/chat/token", express.json(), chatToken);',
        "PHP": "if ($_SERVER['REQUEST_METHOD'] !== 'POST') { http_response_code(405); exit; }",
    },
    needs=("jwt.compact",),
)
def get_refused(run: Run) -> Finding:
    """What GET answers is cached, prefetched, and kept in logs."""
    calls = run.calls
    answer = calls.ask("by GET", calls.member, method="GET", query=(("jkt", calls.new_jkt()),))
    if answer.minted:
        return warned("GET gets a token.", answer)
    if answer.status >= 500:
        return warned(f"GET is answered {answer.status}.", answer)
    return passed(f"{answer.status}")
