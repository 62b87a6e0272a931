"""claim.jkt-match: the token contains the jkt of this request."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.mistakes.jkts import changed
from chatkey_check.model import BOUND, Finding, Severity
from chatkey_check.run import Run


@check(
    "claim.jkt-match",
    group=BOUND,
    severity=Severity.MUST,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="cnf.jkt is the jkt that was sent, byte for byte",
    hint="Copy the jkt into the token unchanged. Do not hash, lower-case, trim, pad or truncate the jkt.",
    mistakes=(
        "the jkt is hashed again, although it already is a hash",
        "the jkt is lower-cased, trimmed or padded, or cut by a database column",
        "the jkt is converted to the standard base64 alphabet or to hex",
        "the code contains a fixed jkt from a first try",
    ),
    mend={
        "Python": 'claims["cnf"] = {"jkt": body["jkt"]}',
        "Node.js": "claims.cnf = { jkt: request.body.jkt };",
        "PHP": "$claims['cnf'] = ['jkt' => $body['jkt']];",
    },
    needs=("claim.cnf",),
)
def jkt_match(run: Run) -> Finding:
    """The socket compares cnf.jkt with the thumbprint of the key that signs the proof."""
    calls = run.calls
    sent, got = calls.first.request.jkt, str(calls.first.jkt)
    if got == sent:
        return passed()
    message = f"cnf.jkt is {reading.shown(got)}, but {sent} was sent"
    cause = changed(sent, got)
    if cause:
        return failed(f"{message}: it is {cause.message}.", calls.first, hint=cause.hint)
    if len(got) == len(sent):
        hint = (
            "The jkt belongs to another key. It may be a fixed value, or come from the cached token of an earlier call."
        )
        return failed(f"{message}.", calls.first, hint=hint)
    return failed(f"{message}.", calls.first)
