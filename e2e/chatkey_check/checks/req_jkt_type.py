"""req.jkt-type: a jkt that is not a string is refused."""

from __future__ import annotations

from functools import partial

from chatkey_check import reading
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import BAD_REQUESTS, Finding, Severity
from chatkey_check.run import Run

VALUES: tuple[object, ...] = (None, 42, True, ["x"], {"a": 1}, "")


@check(
    "req.jkt-type",
    group=BAD_REQUESTS,
    severity=Severity.MUST,
    section="4.7",
    sent='jkt as null, 42, true, ["x"], {"a": 1} and ""',
    passes="no token, and a status below 500",
    hint="Check the type first, for example with typeof jkt === 'string', isinstance(jkt, str) or is_string($jkt).",
    mistakes=(
        "the handler turns any jkt into a string",
        "the handler uses the first item of a list",
        "the handler expects a string and crashes on a number",
    ),
    mend={
        "Python": "if not isinstance(jkt, str):\n    abort(400)",
        "Node.js": 'if (typeof jkt !== "string") return response.sendStatus(400);',
        "PHP": "if (!is_string($jkt)) { http_response_code(400); exit; }",
    },
    needs=("req.jkt-missing",),
)
def jkt_type(run: Run) -> Finding:
    """If your code turns a jkt that is no string into a string, the token contains a thumbprint that matches no key."""
    calls, texts = run.calls, [reading.shown(value) for value in VALUES]
    asks = (
        partial(calls.ask, f"jkt is {shown}", calls.member, jkt=value)
        for value, shown in zip(VALUES, texts, strict=True)
    )
    for shown, answer in zip(texts, calls.ask_each(asks), strict=False):
        if answer.minted:
            return failed(f"jkt {shown} gets a token.", answer)
        if answer.status >= 500:
            return failed(f"jkt {shown} gets {answer.status}.", answer)
        if answer.response is None:
            return failed(f"jkt {shown} gets no answer: {answer.broken}.", answer)
    return passed()
