"""resp.content-type: the answer is declared as JSON."""

from __future__ import annotations

from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import WORKERS, passed, warned
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
    answers = [answer for _, answer in run.calls.together if answer.minted]
    other = [one for answer in answers if (one := _judged(answer)).verdict is not Verdict.PASS]
    if found.verdict is not Verdict.PASS or not other:
        return found
    what = f"The answers alternate: {len(other)} of {len(answers) + 1} are not declared as JSON. {other[0].message}"
    return warned(what, *other[0].about, hint=WORKERS)


def _judged(answer: Exchange) -> Finding:
    said = answer.response.get("content-type") if answer.response else None
    media = (said or "").partition(";")[0].strip().lower()
    if media == "application/json" or (media.startswith("application/") and media.endswith("+json")):
        return passed()
    return warned(f"Content-Type is {said!r}." if said else "Content-Type is missing.", answer)
