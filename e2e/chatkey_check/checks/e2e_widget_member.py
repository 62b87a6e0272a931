"""e2e.widget-member: a real widget on the page connects as the member."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.exchange import origin
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.live.browser.causes import configured, trouble
from chatkey_check.model import END_TO_END, Finding, Phase, Severity, Unusable
from chatkey_check.run import Run


@check(
    "e2e.widget-member",
    group=END_TO_END,
    severity=Severity.MUST,
    section="3",
    sent="--page-url, or an empty page of the same origin, in a browser with the login's cookies and a real widget",
    passes="after one call of the endpoint, the widget is the member of the first call",
    hint="Look at the screenshot and the trace, which show what the page did.",
    mistakes=(
        "the page's function is not called getToken, or returns an object instead of its token",
        'getToken calls fetch with credentials: "omit"',
        "a Content-Security-Policy blocks the widget's files or its socket",
        "the browser does not send the session's cookie",
    ),
    mend={
        "page": "window.ServiceConfig = { providerId, getToken };",
    },
    needs=("e2e.socket-refuses-other-key",),
    phase=Phase.LATER,
)
def widget_member(run: Run) -> Finding:
    """Only a real browser shows whether cookie rules, policies and service workers let the widget work."""
    calls = run.calls
    address = calls.target.page_url
    if address is not None and origin(address) != calls.target.page:
        hint = "Use the addresses that your visitors use: endpoint and --page-url have the same scheme, host and port."
        return failed(f"{address} is not on the origin {calls.target.page}.", hint=hint)
    try:
        visit = run.live.visit
    except Unusable as error:
        return failed(str(error), *error.about, hint="Check --page-url: the login must have access to that page.")
    identity = visit.state["identity"] or {}
    if identity.get("identity") != "member":
        return trouble(visit, "The widget does not become the member.")
    if identity["uid"] != calls.token.uid:
        who = f"{reading.shown(identity['uid'])}, not {reading.shown(calls.token.uid)}"
        return visit.failed(f"The widget became the member {who}.")
    misled = configured(visit)
    if misled:
        return visit.failed(*misled)
    asked = visit.told("token:requested")
    if len(asked) != 1:
        return visit.failed(f"The widget called the endpoint {len(asked)} times instead of once.")
    page = "an empty page of your origin; use --page-url for one of your own"
    if address and visit.state["page"]["calls"]:
        page = "your page, by the page's own getToken"
    elif address:
        page = "your page, by a getToken of this program: the page configures no widget"
    return passed(f"member {reading.shown(identity['uid'])} on {page}")
