"""e2e.widget-renew: shortly before the token expires, the widget gets a new one."""

from __future__ import annotations

import time

from chatkey_check import reading
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed
from chatkey_check.live.browser.causes import trouble
from chatkey_check.model import END_TO_END, Finding, Phase, Severity
from chatkey_check.run import Run
from chatkey_check.words import plural

BEFORE_THE_END = 30.0
KEPT = "Fetch a new token whenever getToken is called. The widget keeps the token itself."


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
    for _ in range(2 if visit.page_calls else 1):  # the page's own code may keep the first token
        end = reading.lenient_claims(visit.stored or "").get("exp")
        if not isinstance(end, int | float):
            return visit.failed("localStorage has no token with an exp.")
        asked = len(visit.token_calls)
        visit.renew(end - BEFORE_THE_END - time.time())
        if not visit.told("token:received") or (visit.state["identity"] or {}).get("identity") != "member":
            return trouble(visit, "Shortly before its token expires, the widget gets no new token.")
        if len(visit.token_calls) == asked and visit.page_calls:
            return visit.failed("The page's getToken returned a token without a call of the endpoint.", KEPT)
    calls = visit.page_calls
    return passed(f"the page's getToken was called {plural(calls, 'time')} in all" if calls else "")
