"""Reports for tests of the report formats."""

from __future__ import annotations

from typing import Any, Final

from chatkey_check import checks
from chatkey_check.model import Evidence, Outcome, Report, Verdict

HOSTILE: Final = '<script>alert(1)</script> "><img src=x onerror=alert(1)> ``` `x` |a| @team [b](javascript:x) \x07 ]]>'
SEEN: Final = Evidence("a normal call", "curl -i http://shop.localhost/chat/token", "HTTP 200\n\n{}", 0.012)
FOUND: Final[dict[str, dict[str, Any]]] = {
    "claim.cnf": {
        "verdict": Verdict.FAIL,
        "message": "The claim cnf is missing.",
        "hint": "Add it.",
        "evidence": (SEEN,),
    },
    "claim.jkt-match": {"verdict": Verdict.BLOCKED, "blocked_by": "claim.cnf"},
    "claim.avatar": {"verdict": Verdict.FAIL, "message": "avatar is relative.", "hint": "x", "known": "lab pictures"},
    "resp.no-store": {"verdict": Verdict.WARN, "message": "Cache-Control is missing.", "hint": "Send no-store."},
    "resp.cors": {"verdict": Verdict.ERROR, "message": "KeyError: 'x'", "hint": "This is a fault of chatkey."},
    "anon.after-logout": {"verdict": Verdict.SKIP, "message": "it takes an address", "option": "--logout-url URL"},
    "e2e.widget-member": {"verdict": Verdict.FAIL, "message": "No widget.", "hint": "x", "files": ("trace.zip",)},
}


def report(found: dict[str, dict[str, Any]] | None = None, **members: Any) -> Report:
    """Return a report in which every check passed except those in `found`."""

    def outcome(check_id: str) -> Outcome:
        return Outcome(checks.load_one(check_id), **{"verdict": Verdict.PASS, **(found or {}).get(check_id, {})})

    about: dict[str, Any] = {
        "target": "http://shop.localhost/chat/token",
        "versions": {"chatkey": "1.2.3", "python": "3.11.0"},
        "options": {"--provider-id": "prov_1"},
        "started_at": "2026-01-02T03:04:05+00:00",
        "seconds": 2.25,
        "waited": 1.9,
        "sent": {"POST http://127.0.0.1:1/token: the call of your page": 63},
        "skew": -0.4,
        "outcomes": tuple(map(outcome, checks.ORDER)),
    }
    return Report(**{**about, **members})


def hostile(text: str = HOSTILE) -> Report:
    """Return a report with `text` in every place that an endpoint or a file can influence."""
    seen = Evidence(text, f"curl {text}", text, 0.01)
    hint = text.replace("`", "'")  # our own words, in which backticks mark code
    told: dict[str, Any] = {"message": text, "hint": hint, "evidence": (seen,), "files": (text,)}
    found = {
        "claim.uid": {"verdict": Verdict.FAIL, **told},
        "claim.pid": {"verdict": Verdict.WARN, **told},
        "claim.type": {"verdict": Verdict.FAIL, "known": text, **told},
        "claim.nbf": {"verdict": Verdict.SKIP, "message": text, "option": text},
        "claim.iat": {"verdict": Verdict.PASS, "message": hint},
    }
    about = {"target": f"http://x/{text}", "options": {"--header": text}, "stale": (text,)}
    return report(found, **about)
