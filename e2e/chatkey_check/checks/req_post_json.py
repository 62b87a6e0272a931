"""req.post-json: the endpoint answers the call that the widget makes."""

from __future__ import annotations

from chatkey_check.exchange import Broken, Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import ANSWERS, Blocked, Finding, Severity
from chatkey_check.run import Run

CSRF = ("csrf", "xsrf", "authenticitytoken", "authenticity token", "antiforgery", "cross-site")

DIED = "Look at the backend's log: did the worker die?"
UNANSWERED = {
    Broken.GARBLED: "Look at the backend's log, and at what is written before the headers: a warning, perhaps.",
    Broken.SHORT: "Content-Length, or the chunks, promise more than is sent: let the framework count the bytes.",
    Broken.UNPACKABLE: "Content-Encoding says one thing and the body is another: one place compresses, and says so.",
}
"""Hints for calls that got no readable answer."""
BOT_WALL = "What keeps robots away stands before the endpoint, and takes the checker for one: let it past."
CHALLENGES = ("just a moment", "captcha", "challenge-platform", "are you human", "bot detection")
CHALLENGING = frozenset({403, 429, 503})
REFUSING = frozenset({400, 401, 403, 422})
SHAPE = "The endpoint does not accept what the widget sends: a JSON object with the member jkt, and no other."
PROXY = "The proxy says so, or the backend is down for now: is it running, and where the proxy looks for it?"
CRASHES = "The handler crashes: its traceback is in the backend's log."
HINTS = {
    400: SHAPE,
    422: SHAPE,
    401: "The endpoint does not know the session: is it still logged in, and does the cookie reach this path?",
    403: "If a CSRF middleware blocks the call, pass its header with --header, or exempt this route from it.",
    404: "There is no such route: look at the path, a prefix, and a trailing slash.",
    405: "The route exists, but not for POST: add the method.",
    415: "Accept Content-Type: application/json; that is what the widget sends.",
    429: "Rate limits stand in the way of this check: raise them for the checker, or wait.",
    502: PROXY,
    503: PROXY,
    504: PROXY,
}


@check(
    "req.post-json",
    group=ANSWERS,
    severity=Severity.MUST,
    section="4.7",
    sent='POST {"jkt": …} as the login, with Content-Type: application/json and the page\'s own Origin',
    passes="a 2xx status",
    hint="Answer POST with a JSON body at this address, for a session that is logged in.",
    mistakes=(
        "the route is missing, or for GET only",
        "a CSRF middleware wants a token: exempt the route, or send it (--header 'X-CSRFToken: {cookie:csrftoken}')",
        "the handler reads a form, and crashes on JSON",
        "a limit of calls lets nobody in",
    ),
    mend={
        "Python": '@app.post("/chat/token")\ndef chat_token(): ...',
        "Node.js": 'app.post("/chat/token", express.json(), chatToken);',
        "PHP": "$body = json_decode(file_get_contents('php://input'), true);",
    },
    needs=("net.latency",),
)
def post_json(run: Run) -> Finding:
    """This call is the only thing that the widget needs from your endpoint."""
    answer = run.calls.first
    if answer.redirected:
        raise Blocked("req.no-redirect")
    if answer.succeeded:
        return passed(f"{answer.status}")
    if answer.broken is not None:
        return failed(f"No answer: {answer.broken}.", answer, hint=UNANSWERED.get(answer.broken, DIED))
    return failed(f"The endpoint answers {answer.status}.", answer, hint=_hint(answer))


def _hint(answer: Exchange) -> str:
    body, status = answer.text.lower(), answer.status
    if status in CHALLENGING and any(word in body for word in CHALLENGES):
        return BOT_WALL
    if status == 419 or (status in REFUSING and any(word in body for word in CSRF)):
        return "Your CSRF protection blocks the call: pass its header with --header, or exempt this route from it."
    if answer.asks_for_password:
        return "HTTP Basic stands before the endpoint: let the widget's call past it, or pass it with --header."
    return HINTS.get(status, CRASHES if status >= 500 else "Answer 200 with a JSON object.")
