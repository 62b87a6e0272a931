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
    sent="the clock of the page, moved to 30 seconds before the end of the token",
    passes="another call of the endpoint, with another token; still the member",
    hint="The widget asks again before the end: answer it like the first time.",
    mistakes=(
        "the endpoint refuses a second call in the same session",
        "getToken keeps its first answer",
    ),
    needs=("e2e.widget-reload",),
    phase=Phase.LATER,
)
def widget_renew(run: Run) -> Finding:
    """Somebody who chats for more than an hour must stay logged in as the same member."""
    visit = run.live.visit
    end = reading.lenient_claims(visit.stored or "").get("exp")
    if not isinstance(end, int | float):
        return visit.failed("The widget keeps no token with an end.")
    visit.renew(end - BEFORE_THE_END - time.time())
    if not visit.told("token:received") or (visit.state["identity"] or {}).get("identity") != "member":
        return trouble(visit, "Near the end of its token the widget is not given another.")
    return passed()
