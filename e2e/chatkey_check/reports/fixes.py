"""Describes the fix of a finding for programs: what to change, in which place, and examples."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from chatkey_check.model import Outcome, Where
from chatkey_check.reports.summary import FINDINGS

PARTS: Final = {
    "net": "site",
    "req": "request",
    "resp": "answer",
    "jwt": "signature",
    "claim": "claims",
    "conc": "shared-state",
    "anon": "visitor",
    "auth": "login",
    "page": "page",
    "secret": "settings",
    "e2e": "service",
}
"""The part of the site to change, by the first part of a check's id. The schema explains each part."""
CLAIMS: Final = {
    **{f"claim.{name}": name for name in ("cnf", "pid", "type", "uid", "iat", "nbf", "avatar")},
    **dict.fromkeys(("claim.jkt-match", "claim.jkt-follows", "req.body-wins"), "cnf.jkt"),
    **{f"claim.uid-{name}": "uid" for name in ("stable", "distinct", "reserved", "pii")},
    **{f"claim.{name}": "exp" for name in ("exp-type", "exp-absolute", "lifetime", "exp-iat", "renew")},
}
"""The claim to change, by check."""
HEADERS: Final = {
    "net.clock": "Date",
    "req.no-redirect": "Location",
    "anon.no-redirect": "Location",
    "resp.content-type": "Content-Type",
    "resp.session-kept": "Set-Cookie",
    "resp.cors": "Access-Control-Allow-Origin",
    "resp.no-store": "Cache-Control",
    "auth.cross-site": "Set-Cookie",
}
"""The header of the answer to change, by check."""


def fix(outcome: Outcome) -> dict[str, Any] | None:
    """Return what to change, in which place, and code examples by language. Return None if the check found nothing."""
    if outcome.verdict not in FINDINGS:
        return None
    check = outcome.check
    place = outcome.where or Where(CLAIMS.get(check.id), HEADERS.get(check.id))
    where = {"part": PARTS[check.id.partition(".")[0]], **asdict(place)}
    return {"change": outcome.hint, "where": where, "examples": dict(check.mend)}
