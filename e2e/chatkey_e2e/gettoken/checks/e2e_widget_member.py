"""e2e.widget-member: a real widget on the page becomes the member."""

from __future__ import annotations

from chatkey_e2e.gettoken import reading
from chatkey_e2e.gettoken.calls import Calls
from chatkey_e2e.gettoken.exchange import origin
from chatkey_e2e.gettoken.findings import failed, passed, plural
from chatkey_e2e.gettoken.model import END_TO_END, Finding, Phase, Severity, check


@check(
    "e2e.widget-member",
    group=END_TO_END,
    severity=Severity.MUST,
    section="3",
    sent="--page-url, or an empty page of the same origin, in a browser with the login's cookies and a real widget",
    passes="the widget is the member of the first call, after one call of the endpoint",
    hint="The screenshot and the trace show what the page did.",
    needs=("e2e.socket-refuses-other-key",),
    phase=Phase.LATER,
)
def widget_member(calls: Calls) -> Finding:
    """Cookies, policies and service workers are a browser's: only there it shows whether they let the widget be."""
    from chatkey_e2e.gettoken import browser_findings  # noqa: PLC0415 - the browser is not there before

    address = calls.target.page_url
    if address is not None and origin(address) != calls.target.page:
        hint = "Give the endpoint and --page-url as your visitors have them: scheme, host and port are the same."
        return failed(f"{address} is not on the origin {calls.target.page}.", hint=hint)
    ...
