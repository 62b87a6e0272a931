"""req.jkt-type: a jkt that is no text is refused."""

from __future__ import annotations

from chatkey_e2e.gettoken import reading
from chatkey_e2e.gettoken.judging.check import check
from chatkey_e2e.gettoken.judging.findings import failed, passed
from chatkey_e2e.gettoken.model import BAD_REQUESTS, Finding, Severity
from chatkey_e2e.gettoken.run import Run

VALUES: tuple[object, ...] = (None, 42, True, ["x"], {"a": 1}, "")


@check(
    "req.jkt-type",
    group=BAD_REQUESTS,
    severity=Severity.MUST,
    section="4.7",
    sent='jkt as null, 42, true, ["x"], {"a": 1} and ""',
    passes="no token, and a status below 500",
    hint="Check the type first: typeof jkt === 'string', isinstance(jkt, str), is_string($jkt).",
    mistakes=(
        "jkt is turned into text, whatever it was",
        "the first of a list is taken",
        "a text is expected, and a number crashes",
    ),
    mend={
        "Python": "if not isinstance(jkt, str):\n    abort(400)",
        "Node.js": 'if (typeof jkt !== "string") return response.sendStatus(400);',
        "PHP": "if (!is_string($jkt)) { http_response_code(400); exit; }",
    },
    needs=("req.jkt-missing",),
)
def jkt_type(run: Run) -> Finding:
    """What is turned into text on the way becomes a fingerprint that fits no key."""
    for value in VALUES:
        shown = reading.shown(value)
        answer = run.calls.ask(f"jkt is {shown}", run.calls.member, body={"jkt": value})
        if answer.minted:
            return failed(f"jkt {shown} gets a token.", answer)
        if answer.status >= 500:
            return failed(f"jkt {shown} is answered {answer.status}.", answer)
        if answer.response is None:
            return failed(f"jkt {shown} gets no answer: {answer.broken}.", answer)
    return passed()
