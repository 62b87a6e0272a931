"""resp.json-object: the answer is a JSON object with a member `token`."""

from __future__ import annotations

from chatkey_e2e.gettoken.calls import Calls
from chatkey_e2e.gettoken.findings import failed, passed
from chatkey_e2e.gettoken.mistakes.answers import wrong_with
from chatkey_e2e.gettoken.model import ANSWERS, Finding, Severity, check


@check(
    "resp.json-object",
    group=ANSWERS,
    severity=Severity.MUST,
    section="4.7",
    sent="the same call",
    passes="the body is a JSON object with the member `token` at its top level",
    hint='Return {"token": "…"}: not wrapped in data, not the bare string, not HTML.',
    needs=("req.post-json", "req.no-redirect"),
)
def json_object(calls: Calls) -> Finding:
    """getToken returns `(await answer.json()).token`."""
    wrong = wrong_with(calls.first)
    return failed(wrong.message, calls.first, hint=wrong.hint) if wrong else passed()
