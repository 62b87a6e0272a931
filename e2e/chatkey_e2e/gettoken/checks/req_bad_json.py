"""req.bad-json: a body that is no JSON is refused quietly."""

from __future__ import annotations

import re

from chatkey_e2e.gettoken.calls import Calls
from chatkey_e2e.gettoken.findings import failed, passed, warned
from chatkey_e2e.gettoken.model import BAD_REQUESTS, Finding, Severity, check

TRACEBACK = re.compile(
    r"Traceback \(most recent call last\)|^\s*at [\w.$<> ]+ ?\(.+:\d+(?::\d+)?\)|&nbsp;at .+:\d+:\d+|Stack trace:|"
    r"\.(?:py|php|rb|java|js|ts)[\"']?, line \d+|on line <b>\d+|Werkzeug Debugger|DEBUG = True|Exception in thread",
    re.MULTILINE,
)


@check(
    "req.bad-json",
    group=BAD_REQUESTS,
    severity=Severity.MUST,
    section="4.7",
    sent='{"jkt":',
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
def bad_json(calls: Calls) -> Finding:
    """A traceback tells strangers how the site is built."""
    session = calls.anybody
    answer = calls.ask("JSON that breaks off", session, raw=b'{"jkt":')
    if answer.minted:
        return failed("A body that is no JSON gets a token.", answer)
    if answer.response is None:
        return failed(f"A body that is no JSON gets no answer: {answer.broken}.", answer)
    if answer.status >= 500:
        return failed(f"A body that is no JSON is answered {answer.status}.", answer)
    if TRACEBACK.search(answer.text):
        hint = "Switch the debug mode off where others can reach the site, and answer 400 without details."
        return failed(f"The answer ({answer.status}) shows a traceback.", answer, hint=hint)
    if answer.status >= 400 or answer.member is None:
        return passed(f"{answer.status}")
    return warned(f"A body that is no JSON is answered {answer.status}, as if it were right.", answer)
