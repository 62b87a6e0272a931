"""req.body-wins: the token is bound to the jkt of the body."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.judging.shapes import of_own_shape
from chatkey_check.model import BOUND, Finding, Severity
from chatkey_check.run import Run


@check(
    "req.body-wins",
    group=BOUND,
    severity=Severity.MUST,
    section="4.7",
    sent="the call with a jkt in the body and another one in the address, ?jkt=…",
    passes="cnf.jkt is the jkt from the body",
    hint="Read jkt only from the JSON body. A framework's `params` may also contain the query.",
    mistakes=("the framework's `params` merges address and body, and the address wins",),
    mend={
        "Python": 'jkt = body.get("jkt")',
        "Node.js": "const { jkt } = request.body;",
        "PHP": "$jkt = json_decode(file_get_contents('php://input'), true)['jkt'];",
    },
    needs=("claim.jkt-follows",),
)
def body_wins(run: Run) -> Finding:
    """Do not read the jkt from the URL. The author of a link chooses the URL, and could therefore choose the key."""
    calls = run.calls
    if not calls.target.shape.in_body:
        return of_own_shape("the jkt in the address")
    elsewhere = calls.new_jkt()
    answer = calls.ask("another jkt in the address", calls.member, query=(("jkt", elsewhere),))
    sent = answer.request.jkt
    if not answer.minted or answer.jkt == sent:
        return passed()
    if answer.jkt == elsewhere:
        return failed("cnf.jkt is the jkt from the address, not from the body.", answer)
    return failed(f"cnf.jkt is {reading.shown(answer.jkt)}, but the body had {sent}.", answer)
