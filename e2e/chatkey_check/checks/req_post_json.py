"""req.post-json: the endpoint answers the call that the widget makes."""

from __future__ import annotations

from chatkey_check.exchange import Broken, Exchange
from chatkey_check.judging.alternating import repeats_alternate
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.mistakes.answers import BOT_WALL, BOT_WALLS
from chatkey_check.model import ANSWERS, Blocked, Finding, Severity
from chatkey_check.run import Run

FIRST_REFUSAL = 300
CSRF = ("csrf", "xsrf", "authenticitytoken", "authenticity token", "antiforgery", "cross-site")

DIED = "Look in the backend's log: the worker may have crashed."
UNANSWERED = {
    Broken.GARBLED: "Look in the backend's log. The program may print a warning or other text before the headers.",
    Broken.SHORT: "Content-Length or a chunk size is too large. Let the framework count the bytes.",
    Broken.UNPACKABLE: "Compress the body in one place only, which also sets Content-Encoding.",
}
"""Hints for calls that got no readable answer."""
CHALLENGING = frozenset({403, 429, 503})
REFUSING = frozenset({400, 401, 403, 422})
SHAPE = "Accept the widget's body: a JSON object with the single member jkt."
PROXY = "The proxy does not reach the backend. Check that the backend runs at the address that the proxy uses."
CRASHES = "The handler crashed. The traceback is in the backend's log."
HINTS = {
    400: SHAPE,
    422: SHAPE,
    401: "The endpoint does not accept the session. Check that the session is valid, and the path of its cookie.",
    403: "If a CSRF middleware blocks the call, send its token with --header, or exempt this route.",
    404: "The route does not exist. Check the path, its prefix and the trailing slash.",
    405: "The route does not accept POST. Add the method.",
    415: "Accept Content-Type: application/json, which the widget sends.",
    429: "A rate limit blocks the call. Raise the limit for this program, or wait.",
    502: PROXY,
    503: PROXY,
    504: PROXY,
}


@check(
    "req.post-json",
    group=ANSWERS,
    severity=Severity.MUST,
    section="4.7",
    sent='POST {"jkt": …}, logged in, with Content-Type: application/json and the page\'s own Origin',
    passes="a 2xx status",
    hint="Accept POST with a JSON body at this address for a logged-in session.",
    mistakes=(
        "the route does not exist, or accepts only GET",
        "a CSRF middleware needs a token: exempt the route, or send it (--header 'X-CSRFToken: {cookie:csrftoken}')",
        "the handler expects a form and crashes on JSON",
        "a rate limit refuses the call",
    ),
    mend={
        "Python": '@app.post("/chat/token")\ndef chat_token(): ...',
        "Node.js": 'app.post("/chat/token", express.json(), chatToken);',
        "PHP": "$body = json_decode(file_get_contents('php://input'), true);",
    },
    needs=("net.latency",),
)
def post_json(run: Run) -> Finding:
    """A POST with a JSON body is the only call that the widget needs from your endpoint."""
    answer = run.calls.first
    alternates = repeats_alternate(run.calls, _not_refused)
    if alternates is not None:
        return alternates
    if answer.redirected:
        raise Blocked("req.no-redirect")
    return _accepted(answer)


def _not_refused(answer: Exchange) -> Finding:
    """Judge whether a call is refused by the endpoint itself. net.steady reports calls that fail, and limits pass."""
    if answer.status < FIRST_REFUSAL or answer.fails or answer.limited:
        return passed()
    return _accepted(answer)


def _accepted(answer: Exchange) -> Finding:
    if answer.succeeded:
        return passed(f"{answer.status}")
    if answer.broken is not None:
        return failed(f"No answer: {answer.broken}.", answer, hint=UNANSWERED.get(answer.broken, DIED))
    return failed(f"The endpoint answers with status {answer.status}.", answer, hint=_hint(answer))


def _hint(answer: Exchange) -> str:
    body, status = answer.text.lower(), answer.status
    if status in CHALLENGING and any(word in body for word in BOT_WALLS):
        return BOT_WALL
    if status == 419 or (status in REFUSING and any(word in body for word in CSRF)):
        return "Your CSRF protection blocks the call. Send the CSRF header with --header, or exempt this route."
    if answer.asks_for_password:
        return "HTTP Basic protects the endpoint. Exempt the widget's call, or send the credentials with --header."
    if status == 403 and "missing authentication token" in body:
        return "The API gateway has no route for POST at this address. Check the path, its stage and the method."
    if status == 400 and not body:
        return f"{SHAPE} An antiforgery check of ASP.NET also answers 400 without a body: exempt the route."
    return HINTS.get(status, CRASHES if status >= 500 else "Answer 200 with a JSON object.")
