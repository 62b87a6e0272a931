"""e2e.widget-renew: shortly before the token expires, the widget gets a new one."""

from __future__ import annotations

import time

from chatkey_check import reading
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed
from chatkey_check.live.browser.causes import trouble
from chatkey_check.model import END_TO_END, Finding, Phase, Severity
from chatkey_check.run import Run

BEFORE_THE_END = 30.0


@check(
    "e2e.widget-renew",
    group=END_TO_END,
    severity=Severity.MUST,
    section="3",
    sent="the page's clock is moved to 30 seconds before the token expires",
    passes="the widget calls the endpoint again, gets another token and is still the member",
    hint="Answer every call of the widget like the first call, because the widget calls again before the token "
    "expires.",
    mistakes=(
        "the endpoint refuses a second call in the same session",
        "getToken caches its first answer",
    ),
    needs=("e2e.widget-reload",),
    phase=Phase.LATER,
)
def widget_renew(run: Run) -> Finding:
    """A person who chats for more than an hour must stay logged in as the same member."""
    visit = run.live.visit
    end = reading.lenient_claims(visit.stored or "").get("exp")
    if not isinstance(end, int | float):
        return visit.failed("localStorage has no token with an exp.")
    visit.renew(end - BEFORE_THE_END - time.time())
    if not visit.told("token:received") or (visit.state["identity"] or {}).get("identity") != "member":
        return trouble(visit, "Shortly before its token expires, the widget gets no new token.")
    return passed()
