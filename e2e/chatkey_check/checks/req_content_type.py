"""req.content-type: only JSON with a JSON content type is accepted."""

from __future__ import annotations

from functools import partial

from chatkey_check.calls.shared import Calls
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed, warned
from chatkey_check.judging.shapes import without_json
from chatkey_check.model import BAD_REQUESTS, Finding, Severity
from chatkey_check.run import Run

FORM = "application/x-www-form-urlencoded"
SIMPLE = {**{kind: kind for kind in ("text/plain", FORM, "multipart/form-data")}, "no Content-Type": None}


@check(
    "req.content-type",
    group=BAD_REQUESTS,
    severity=Severity.SHOULD,
    section="4.7",
    sent="the same JSON as text/plain, as a form and without Content-Type, and a real form with the field jkt",
    passes="no token",
    hint="Require application/json, because a page of another site cannot send application/json without a CORS "
    "preflight.",
    mistakes=("the handler parses the body whatever its Content-Type: force=True, or type: () => true",),
    mend={
        "Python": 'if request.mimetype != "application/json":\n    abort(415)',
        "Node.js": 'if (!request.is("application/json")) return response.sendStatus(415);',
        "PHP": "if ($_SERVER['CONTENT_TYPE'] !== 'application/json') { http_response_code(415); exit; }",
    },
    needs=("jwt.compact",),
)
def content_type(run: Run) -> Finding:
    """A page of any site can send forms and plain text to your endpoint, together with your visitor's cookies."""
    calls = run.calls
    return without_json(calls) or _judged(calls)


def _judged(calls: Calls) -> Finding:
    asks = {
        f"The JSON sent as {said}": partial(calls.ask, f"the JSON sent as {said}", calls.member, content_type=kind)
        for said, kind in SIMPLE.items()
    }
    form = f"jkt={calls.new_jkt()}".encode()
    asks["A form with the field jkt"] = partial(calls.ask, "a real form", calls.member, raw=form, content_type=FORM)
    for what, answer in zip(asks, calls.ask_each(asks.values()), strict=False):
        if answer.minted:
            return warned(f"{what} gets a token.", answer)
    return passed()
