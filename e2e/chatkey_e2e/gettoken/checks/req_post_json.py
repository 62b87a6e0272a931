"""req.post-json: the call the widget makes is answered."""

from __future__ import annotations

from chatkey_e2e.gettoken.exchange import Exchange
from chatkey_e2e.gettoken.judging.check import check
from chatkey_e2e.gettoken.judging.findings import failed, passed
from chatkey_e2e.gettoken.model import ANSWERS, Blocked, Finding, Severity
from chatkey_e2e.gettoken.run import Run

CSRF = ("csrf", "xsrf", "authenticitytoken", "authenticity token", "antiforgery", "cross-site")


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
    """This is the whole of what the widget asks of the endpoint."""
    answer = run.calls.first
    if answer.redirected:
        raise Blocked("req.no-redirect")
    if answer.succeeded:
        return passed(f"{answer.status}")
    if answer.response is None:
        return failed(f"No answer: {answer.broken}.", answer, hint="Look at the backend's log: did the worker die?")
    return failed(f"The endpoint answers {answer.status}.", answer, hint=_hint(answer))


def _hint(answer: Exchange) -> str:
    body = answer.text.lower()
    match answer.status:
        case 400 | 401 | 403 | 419 | 422 if answer.status == 419 or any(word in body for word in CSRF):
            return "Your CSRF protection blocks the call: pass its header with --header, or exempt this route from it."
        case 400 | 422:
            return (
                "The endpoint does not accept what the widget sends: a JSON object with the member jkt, and no other."
            )
        case 401 if answer.asks_for_password:
            return "HTTP Basic stands before the endpoint: let the widget's call past it, or pass it with --header."
        case 401:
            return "The endpoint does not know the session: is it still logged in, and does the cookie reach this path?"
        case 403:
            return "If a CSRF middleware blocks the call, pass its header with --header, or exempt this route from it."
        case 404:
            return "There is no such route: look at the path, a prefix, and a trailing slash."
        case 405:
            return "The route exists, but not for POST: add the method."
        case 415:
            return "Accept Content-Type: application/json; that is what the widget sends."
        case 429:
            return "Rate limits stand in the way of this check: raise them for the checker, or wait."
        case status if status >= 500:
            return "The handler crashes: its traceback is in the backend's log."
        case _:
            return "Answer 200 with a JSON object."
