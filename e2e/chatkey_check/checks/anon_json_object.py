"""anon.json-object: the answer to a visitor has the same form as the answer to a member."""

from __future__ import annotations

from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check, every_visitor
from chatkey_check.judging.findings import failed, passed
from chatkey_check.mistakes.answers import wrong_with
from chatkey_check.model import NOBODY, Finding, Severity
from chatkey_check.run import Run

NULL = 'Answer {"token": null} as JSON when nobody is logged in.'


@check(
    "anon.json-object",
    group=NOBODY,
    severity=Severity.MUST,
    section="4.7",
    sent='POST {"jkt": …} without cookies; then a second call with the cookies that were set',
    passes="a JSON object with the member `token`; the body of a 4xx answer does not matter",
    hint=NULL,
    mistakes=(
        "the endpoint returns a login page",
        "the answer is 204, an empty object, or null",
    ),
    mend={
        "Python": 'return {"token": None}',
        "Node.js": "response.json({ token: null });",
        "PHP": "echo json_encode(['token' => null]);",
    },
    needs=("anon.no-redirect", "anon.no-5xx"),
)
@every_visitor
def json_object(_run: Run, answer: Exchange) -> Finding:
    """getToken reads the same JSON member for visitors and for members."""
    if not answer.succeeded:
        return passed(f"the answer is {answer.status}")
    wrong = wrong_with(answer)
    return failed(f"Without a login: {wrong.message[:1].lower()}{wrong.message[1:]}", answer) if wrong else passed()
