"""net.same-origin: the endpoint has the same origin as the page."""

from __future__ import annotations

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import PRECONDITIONS, Finding, Severity
from chatkey_check.run import Run


@check(
    "net.same-origin",
    group=PRECONDITIONS,
    severity=Severity.MUST,
    section="4.7",
    sent="no request: the origins of the endpoint and of the page (--page-origin) are compared",
    passes="scheme, host and port are equal",
    hint="Serve the endpoint on the page's own origin, for example through your web server. On the page's own origin, "
    "the browser sends the session cookie, and you need no CORS.",
    mistakes=(
        "the endpoint is on api.…, the page on www.…",
        "the page is on another port while you develop",
    ),
    mend={
        "nginx": "location /chat/ { proxy_pass http://127.0.0.1:8000; }",
        "Vite": 'export default { server: { proxy: { "/chat": "http://127.0.0.1:8000" } } };',
    },
)
def same_origin(run: Run) -> Finding:
    """The widget's call carries cookies, and the widget is not designed for CORS."""
    target = run.calls.target
    if target.page_origin is None:
        return passed(f"the page is assumed to be on {target.origin}")
    if target.origin == target.page:
        return passed(target.origin)
    return failed(f"The endpoint is on {target.origin}, the page on {target.page}.")
