"""Describes the fix of a finding for programs: what to change, where, and examples."""

from __future__ import annotations

from typing import Any, Final

from chatkey_check.model import Outcome
from chatkey_check.reports.summary import FINDINGS

WHERE: Final = {
    "net": "how the site is served: web server, DNS, certificates, clocks",
    "req": "how the handler of the endpoint reads the request",
    "resp": "the answer of the endpoint: status, headers, body",
    "jwt": "where the token is signed",
    "claim": "where the claims of the token are put together",
    "conc": "what requests at the same time share: variables of a module, pools",
    "anon": "the beginning of the handler, before anything of a user is read",
    "auth": "where the handler finds out who is logged in",
    "page": "the page, and the scripts that it loads",
    "secret": "the settings that hold secret_key",
    "e2e": "the page, and the service that it connects to",
}
"""The place to look at, by the first part of a check's id."""


def fix(outcome: Outcome) -> dict[str, Any] | None:
    """Return what to change, where, and the code examples by language; None if the check found nothing."""
    if outcome.verdict not in FINDINGS:
        return None
    check = outcome.check
    return {"change": outcome.hint, "where": WHERE[check.id.partition(".")[0]], "examples": dict(check.mend)}
