"""resp.content-type: the answer is declared as JSON."""

from __future__ import annotations

from chatkey_check.exchange import Exchange
from chatkey_check.judging.alternating import alternating
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed, warned
from chatkey_check.model import ANSWERS, Finding, Severity, Verdict
from chatkey_check.run import Run


@check(
    "resp.content-type",
    group=ANSWERS,
    severity=Severity.SHOULD,
    section="4.7",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="Content-Type is application/json or a +json type, with or without parameters",
    hint="Send Content-Type: application/json.",
    mistakes=("the JSON is written by hand, so the framework sets text/html",),
    mend={
        "Python": 'response.headers["Content-Type"] = "application/json"',
        "Node.js": 'response.type("application/json");',
        "PHP": "header('Content-Type: application/json');",
    },
    needs=("resp.json-object",),
)
def content_type(run: Run) -> Finding:
    """If the Content-Type is text/html, a browser can display text in the answer as a page of your site."""
    first = run.calls.first
    if not first.request.token_at:
        return passed("the answer is the token itself")
    found = _judged(first)
    if found.verdict is not Verdict.PASS and _judged(run.calls.second).verdict is not Verdict.PASS:
        return found
    answers = [answer for answer in run.calls.answers_to(run.calls.member) if answer.minted]
    return alternating(answers, _judged) or found


def _judged(answer: Exchange) -> Finding:
    said = answer.response.get("content-type") if answer.response else None
    media = (said or "").partition(";")[0].strip().lower()
    if media == "application/json" or (media.startswith("application/") and media.endswith("+json")):
        return passed()
    return warned(f"Content-Type is {said!r}." if said else "Content-Type is missing.", answer)
