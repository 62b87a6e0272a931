"""req.bad-json: a body that is not JSON is refused without a crash."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from chatkey_check.calls.requests import Variation
from chatkey_check.exchange import MISSING, Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.model import BAD_REQUESTS, Finding, Severity, Verdict, Where
from chatkey_check.reading import Unreadable
from chatkey_check.run import Run
from chatkey_check.shape import Shape

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
"""Stack trace lines of other languages, and stack traces inside JSON."""
FRAME = re.compile(
    r"""([^\s"'()<>]+\.(?:py|php|rb|java|js|ts|go|cs))\b"""
    r"""(?:\\*["']?, \\*"?line\\*"?:? ?|\\*",\\*"line\\*": ?|:line |:|\()(\d+)"""
)
"""A file and a line in a traceback."""
DEPTH = 3000
MARK = "MARK"
LETTERS = "ключ" * 10
BODIES = {
    "incomplete JSON": b'{"jkt":',
    "an array instead of an object": b"[]",
    "null instead of an object": b"null",
    "an empty body": b"",
}


@check(
    "req.bad-json",
    group=BAD_REQUESTS,
    severity=Severity.MUST,
    section="4.7",
    sent='the incomplete JSON {"jkt":; the bodies [] and null, and an empty one; a jkt with letters that are not '
    "ASCII or with half of a surrogate pair; a body that is not UTF-8; and JSON that is nested 3000 levels deep",
    passes="a 4xx status, a redirect, or `token` null; no traceback; no 5xx status (only a warning for the last four)",
    hint="Catch the error of the JSON parser, and answer 400.",
    mistakes=(
        "the parser's error, or a RecursionError for deeply nested JSON, is not caught",
        "invalid bytes or half of a surrogate pair go into a string, a database or a log that cannot store them",
        "the site runs in debug mode",
    ),
    mend={
        "Python": "try:\n    body = json.loads(request.get_data())\n"
        "except (ValueError, RecursionError):\n    abort(400)",
        "Node.js": "app.use((error, request, response, next) => response.status(error.status ?? 500).json({}));",
        "PHP": "if (!is_array($body)) { http_response_code(400); exit; }",
    },
    needs=("req.post-json", "req.no-redirect", "req.jkt-missing"),
)
def bad_json(run: Run) -> Finding:
    """A traceback shows strangers how your site is built."""
    calls = run.calls
    ways = _ways(calls.target.shape)
    asks = (partial(calls.ask, what, calls.anybody, **how) for what, how in ways.items())
    for what, answer in zip(ways, calls.ask_each(asks), strict=False):
        found = _crash(what, answer) or (_judged(what, answer) if what in BODIES else passed())
        if found.verdict is not Verdict.PASS:
            return found
    return passed()


def _ways(shape: Shape) -> Mapping[str, Variation]:
    """Return the requests to send: unusual text for every endpoint, and invalid JSON if the endpoint accepts JSON."""
    if not shape.body:
        return {"a jkt with letters that are not ASCII": {"jkt": LETTERS}}
    bodies = {**BODIES, **_odd(shape)} if shape.json else _odd(shape)
    return {what: {"raw": raw} for what, raw in bodies.items()}


def _odd(shape: Shape) -> Mapping[str, bytes]:
    """Return bodies that frameworks do not expect. Other checks judge whether such a body gets a token."""
    return {
        "a jkt with letters that are not ASCII": shape.content(LETTERS, {}),
        "a jkt with half of a surrogate pair": shape.content("\ud800", {}),
        "a body that is not UTF-8": shape.content(MARK, {}).replace(MARK.encode(), b"\xff\xfe"),
        "deeply nested JSON": shape.content(MARK, {}).replace(f'"{MARK}"'.encode(), b"[" * DEPTH + b"]" * DEPTH),
    }


def _crash(what: str, answer: Exchange) -> Finding | None:
    body = f"{what[:1].upper()}{what[1:]}"
    if answer.response is None:
        return failed(f"{body} gets no answer: {answer.broken}.", answer)
    if TRACEBACK.search(answer.text) or FRAMES.search(answer.text):
        hint = "Turn off debug mode where others can reach the site, and answer 400 without details."
        return failed(f"The answer ({answer.status}) shows a traceback.", answer, hint=hint, where=_frame(answer.text))
    if answer.status >= 500:
        return (failed if what in BODIES else warned)(f"{body} gets {answer.status}.", answer)
    return None


def _frame(text: str) -> Where | None:
    """Return the last file and line that a traceback names."""
    found = next(reversed([*FRAME.finditer(text)]), None)
    return Where(file=found[1], line=int(found[2])) if found else None


def _judged(what: str, answer: Exchange) -> Finding:
    body = f"{what[:1].upper()}{what[1:]}"
    if answer.minted:
        return failed(f"{body} gets a token.", answer)
    if answer.status >= 400 or answer.redirected or answer.member is None or _says_error(answer):
        return passed()
    return warned(f"{body} gets {answer.status}, as if it were valid.", answer)


def _says_error(answer: Exchange) -> bool:
    """Return whether the JSON of an answer has an error in place of a result, as in JSON-RPC and GraphQL."""
    try:
        said = answer.json
    except Unreadable:
        return False
    return isinstance(said, dict) and bool(said.get("error") or said.get("errors")) and answer.member is MISSING
