"""e2e.widget-reload: the next page needs no further call."""

from __future__ import annotations

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.live.browser.causes import trouble
from chatkey_check.model import END_TO_END, Finding, Phase, Severity, Unusable
from chatkey_check.run import Run


@check(
    "e2e.widget-reload",
    group=END_TO_END,
    severity=Severity.MUST,
    section="3",
    sent="a reload of the same page",
    passes="the widget is the member again, without another call of the endpoint",
    hint="Do not clear localStorage, because the widget keeps the token in localStorage. Let the token live for an "
    "hour.",
    mistakes=(
        "the page clears the browser's storage when it loads",
        "the token expires in less than an hour",
    ),
    needs=("e2e.widget-member",),
    phase=Phase.LATER,
)
def widget_reload(run: Run) -> Finding:
    """A token is valid for an hour and for many pages.

    Therefore a visit to many pages needs only one call of your endpoint.
    """
    visit = run.live.visit
    try:
        visit.reload()
    except Unusable as error:
        return failed(str(error), *error.about)
    if (visit.state["identity"] or {}).get("identity") != "member":
        return trouble(visit, "After the reload, the widget is not the member.")
    if visit.told("token:requested"):
        why = "".join(f" The stored token was unusable: {told['message']}" for told in visit.told("token:unusable"))
        return visit.failed(f"After the reload, the widget called the endpoint again.{why}")
    return passed()
