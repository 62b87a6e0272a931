"""req.jkt-missing: without a jkt there is no token."""

from __future__ import annotations

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import BAD_REQUESTS, Finding, Severity
from chatkey_check.run import Run
from chatkey_check.shape import LEFT_OUT


@check(
    "req.jkt-missing",
    group=BAD_REQUESTS,
    severity=Severity.MUST,
    section="4.7",
    sent="{}, logged in",
    passes="no token",
    hint="Answer 400, because the socket refuses a token without cnf.jkt in any case.",
    mistakes=("the handler does not check whether jkt is present",),
    mend={
        "Python": "if not isinstance(jkt, str):\n    abort(400)",
        "Node.js": 'if (typeof jkt !== "string") return response.sendStatus(400);',
        "PHP": "if (!is_string($jkt)) { http_response_code(400); exit; }",
    },
    needs=("jwt.compact",),
)
def jkt_missing(run: Run) -> Finding:
    """Anyone who copied a token without a jkt could use the token."""
    answer = run.calls.ask("no jkt", run.calls.member, jkt=LEFT_OUT)
    return failed("A body without jkt gets a token.", answer) if answer.minted else passed(f"{answer.status}")
