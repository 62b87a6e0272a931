"""resp.json-object: the answer is a JSON object with a member `token`."""

from __future__ import annotations

from dataclasses import replace

from chatkey_check.exchange import Exchange
from chatkey_check.judging.alternating import alternating
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.mistakes.answers import wrong_with
from chatkey_check.model import ANSWERS, Finding, Severity, Verdict
from chatkey_check.run import Run

ONE_OF_TWO = "The answers to the first login are correct, but those to the second login are not."


@check(
    "resp.json-object",
    group=ANSWERS,
    severity=Severity.MUST,
    section="4.7",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="the body is a JSON object with the member `token` at its top level",
    hint='Return {"token": "…"}, not a wrapped object, a bare string or HTML.',
    mistakes=(
        'the answer is wrapped: {"data": {"token": …}}',
        "the token is returned as plain text, or as a JSON string",
        "the member has another name: jwt, Token, access_token",
        "the program prints a warning before the JSON",
        "the JSON is encoded twice",
    ),
    mend={
        "Python": 'return {"token": token}',
        "Node.js": "response.json({ token });",
        "PHP": "echo json_encode(['token' => $token]);",
    },
    needs=("req.post-json", "req.no-redirect"),
)
def json_object(run: Run) -> Finding:
    """getToken returns `(await answer.json()).token`."""
    calls = run.calls
    found = _judged(calls.first)
    if found.verdict is not Verdict.PASS and _judged(calls.second).verdict is not Verdict.PASS:
        return found
    people = [calls.member, *([calls.other] if calls.target.login_b else [])]
    answers = [[answer for answer in calls.answers_to(person) if answer.succeeded] for person in people]
    verdicts = [{_judged(answer).verdict for answer in of_person} for of_person in answers]
    if verdicts == [{Verdict.PASS}, {Verdict.FAIL}]:
        wrong = _judged(answers[1][0])
        return replace(wrong, message=f"{ONE_OF_TWO} {wrong.message}")
    return alternating([answer for of_person in answers for answer in of_person], _judged) or found


def _judged(answer: Exchange) -> Finding:
    wrong = wrong_with(answer, of_member=True)
    return failed(wrong.message, answer, hint=wrong.hint) if wrong else passed()
