"""e2e.widget-logout: after logging out, the widget is a visitor immediately."""

from __future__ import annotations

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed
from chatkey_check.live.browser.causes import trouble
from chatkey_check.model import END_TO_END, Finding, Phase, Severity, Unusable
from chatkey_check.run import Run


@check(
    "e2e.widget-logout",
    group=END_TO_END,
    severity=Severity.MUST,
    section="3",
    sent="Service.logout() on the page, or a click on the page's own logout (--logout-selector)",
    passes="the widget is the visitor again, and localStorage has no token",
    hint="Look at the screenshot and the trace, which show what the page did.",
    mistakes=(
        "the page writes the token back into localStorage",
        "the page's own logout ends the shop's session, but does not call Service.logout()",
        "the page overwrote window.Service",
    ),
    needs=("e2e.widget-renew",),
    phase=Phase.LATER,
)
def widget_logout(run: Run) -> Finding:
    """On a shared computer, the next person must not be mistaken for the previous person."""
    visit = run.live.visit
    try:
        visit.log_out()
    except Unusable as error:
        return visit.failed(str(error), "Set --logout-selector to the element that a person would click.")
    if visit.elsewhere and visit.stored is None:
        return passed(f"the page went to {visit.page.url}, and the token is gone")
    if (visit.state["identity"] or {}).get("identity") != "visitor":
        return trouble(visit, f"After {_way(run)} the widget is not the visitor.")
    if visit.stored is not None:
        return visit.failed(f"After {_way(run)} the token is still in localStorage.")
    return passed()


def _way(run: Run) -> str:
    return "a click on the page's own logout" if run.calls.target.logout_selector else "logout()"
