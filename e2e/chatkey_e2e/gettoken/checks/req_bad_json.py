"""req.bad-json: a body that is no JSON is refused quietly."""

from __future__ import annotations

import re

from chatkey_e2e.gettoken.exchange import Exchange
from chatkey_e2e.gettoken.judging.check import check
from chatkey_e2e.gettoken.judging.findings import failed, passed, warned
from chatkey_e2e.gettoken.model import BAD_REQUESTS, Finding, Severity, Verdict
from chatkey_e2e.gettoken.run import Run

TRACEBACK = re.compile(
    r"Traceback \(most recent call last\)|^\s*at [\w.$<> ]+ ?\(.+:\d+(?::\d+)?\)|&nbsp;at .+:\d+:\d+|Stack trace:|"
    r"\.(?:py|php|rb|java|js|ts)[\"']?, line \d+|on line <b>\d+|Werkzeug Debugger|DEBUG = True|Exception in thread",
    re.MULTILINE,
)
FRAMES = re.compile(
    r"(?:^|\\n|\s)at [\w.$<>]+ ?\([^()\s]+:\d+|^goroutine \d+ \[|\.(?:rb|go):\d+(?::in|\s\+0x)|\.cs:line \d+|"
    r"at /\S+:\d+:\d+|"
    r"\"trace\": ?\[\{\"file\"",
    re.MULTILINE,
)
"""Lines of a stack, as they look in other languages and inside of JSON."""
BODIES = {
    "JSON that breaks off": b'{"jkt":',
    "an array instead of an object": b"[]",
    "null instead of an object": b"null",
    "an empty body": b"",
}


@check(
    "req.bad-json",
    group=BAD_REQUESTS,
    severity=Severity.MUST,
    section="4.7",
    sent='{"jkt": and what is no object: [], null, nothing',
    passes="a 4xx status or `token` null; no 5xx, no traceback",
    hint="Catch the error of the JSON parser, and answer 400.",
    mistakes=(
        "the error of the parser is not caught",
        "the site runs in its debug mode",
    ),
    mend={
        "Python": "try:\n    body = json.loads(request.body)\nexcept ValueError:\n    abort(400)",
        "Node.js": "app.use((error, request, response, next) => response.status(error.status ?? 500).json({}));",
        "PHP": "if (!is_array($body)) { http_response_code(400); exit; }",
    },
    needs=("req.post-json", "req.no-redirect", "req.jkt-missing"),
)
def bad_json(run: Run) -> Finding:
    """A traceback tells strangers how the site is built."""
    for what, raw in BODIES.items():
        found = _judged(what, run.calls.ask(what, run.calls.anybody, raw=raw))
        if found.verdict is not Verdict.PASS:
            return found
    return passed()


def _judged(what: str, answer: Exchange) -> Finding:
    body = f"{what[:1].upper()}{what[1:]}"
    if answer.minted:
        return failed(f"{body} gets a token.", answer)
    if answer.response is None:
        return failed(f"{body} gets no answer: {answer.broken}.", answer)
    if answer.status >= 500:
        return failed(f"{body} is answered {answer.status}.", answer)
    if TRACEBACK.search(answer.text) or FRAMES.search(answer.text):
        hint = "Switch the debug mode off where others can reach the site, and answer 400 without details."
        return failed(f"The answer ({answer.status}) shows a traceback.", answer, hint=hint)
    if answer.status >= 400 or answer.member is None:
        return passed()
    return warned(f"{body} is answered {answer.status}, as if it were right.", answer)
