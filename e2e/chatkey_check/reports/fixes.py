"""Describes the fix of a finding for programs: what to change, in which place, and examples."""

from __future__ import annotations

from typing import Any, Final

from chatkey_check.model import Outcome
from chatkey_check.reports.summary import FINDINGS

WHERE: Final = {
    "net": "the way the site is served: web server, DNS, certificates, clocks",
    "req": "the code that reads the request",
    "resp": "the endpoint's answer: status, headers, body",
    "jwt": "the code that signs the token",
    "claim": "the code that builds the token's claims",
    "conc": "the data that simultaneous requests share: module variables, pools",
    "anon": "the beginning of the handler, before it reads the user",
    "auth": "the code that determines who is logged in",
    "page": "the page and its scripts",
    "secret": "the settings that hold secret_key",
    "e2e": "the page and the service that it connects to",
}
"""The place to look at, by the first part of a check's id."""


def fix(outcome: Outcome) -> dict[str, Any] | None:
    """Return what to change, in which place, and code examples by language. Return None if the check found nothing."""
    if outcome.verdict not in FINDINGS:
        return None
    check = outcome.check
    return {"change": outcome.hint, "where": WHERE[check.id.partition(".")[0]], "examples": dict(check.mend)}
