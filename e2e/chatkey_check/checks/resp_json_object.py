"""resp.json-object: the answer is a JSON object with a member `token`."""

from __future__ import annotations

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import WORKERS, failed, passed
from chatkey_check.mistakes.answers import wrong_with
from chatkey_check.model import ANSWERS, Finding, Severity
from chatkey_check.run import Run


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
    wrong = wrong_with(calls.first)
    if wrong:
        return failed(wrong.message, calls.first, hint=wrong.hint)
    together = [answer for session, answer in calls.together if session is not calls.nobody]
    answers = [answer for answer in (calls.second, *together) if answer.succeeded]
    other = [(answer, found) for answer in answers if (found := wrong_with(answer))]
    if not other:
        return passed()
    what = f"The answers alternate: {len(other)} of {len(answers) + 1} have another form"
    return failed(f"{what}. {other[0][1].message}", other[0][0], hint=WORKERS)
