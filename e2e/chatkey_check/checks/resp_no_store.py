"""resp.no-store: no cache keeps the answer."""

from __future__ import annotations

import re

from chatkey_check.calls.shared import Calls
from chatkey_check.calls.token import Token
from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import passed, warned
from chatkey_check.model import LEAKS, Finding, Severity, Skipped, Verdict, Where
from chatkey_check.run import Run

FOR_CDN = ("cdn-cache-control", "surrogate-control", "cloudflare-cdn-cache-control")
KEPT = re.compile(r"(?:max-age|s-maxage)\s*=\s*\"?0*[1-9]", re.IGNORECASE)


@check(
    "resp.no-store",
    group=LEAKS,
    severity=Severity.SHOULD,
    sent='a normal call: POST {"jkt": …}, logged in; and a visitor\'s',
    passes="Cache-Control has no-store, no header lets a CDN store the answer, and visitors' answers are not stored",
    hint="Send Cache-Control: no-store. Without no-store, a proxy may store one person's token and send the token to "
    "another person.",
    mistakes=(
        "the header is missing, or has only private or no-cache",
        "CDN-Cache-Control or Surrogate-Control allows storing",
        "the answer to visitors is stored, so they still get null after they log in",
    ),
    mend={
        "Python": 'response.headers["Cache-Control"] = "no-store"',
        "Node.js": 'response.set("Cache-Control", "no-store");',
        "PHP": "header('Cache-Control: no-store');",
    },
    needs=("jwt.compact",),
)
def no_store(run: Run) -> Finding:
    """A token belongs to one person. Therefore a cache must not give the token to another person."""
    found = _of_members(run)
    return found if found.verdict is not Verdict.PASS else _of_visitors(run.calls)


@every_token
def _of_members(_run: Run, token: Token) -> Finding:
    said = _said(token.answer, "cache-control")
    if "no-store" not in _directives(said):
        return warned(
            f"Cache-Control is {said!r}, without no-store." if said else "Cache-Control is missing.", token.answer
        )
    for name in FOR_CDN:
        said = _said(token.answer, name)
        if KEPT.search(said):
            hint = f"Remove {name} from this route: for a CDN it overrides Cache-Control (RFC 9213)."
            return warned(f"{name} is {said!r}.", token.answer, hint=hint, where=Where(header=name))
    return passed()


def _of_visitors(calls: Calls) -> Finding:
    """Check that caches may not keep the answer to a visitor. An answer without Cache-Control is accepted."""
    try:
        answer = calls.anonymous
    except Skipped:
        return passed()
    for name in ("cache-control", *FOR_CDN):
        said = _said(answer, name)
        if answer.succeeded and KEPT.search(said) and not {"no-store", "no-cache"} & _directives(said):
            hint = "Send no-store to visitors too. Otherwise they may get the stored null after they log in."
            what = f"Caches may store the answer that a visitor gets: {name} is {said!r}."
            return warned(what, answer, hint=hint, where=Where(header=name))
    return passed()


def _said(answer: Exchange, name: str) -> str:
    return ", ".join(answer.response.all(name)) if answer.response else ""


def _directives(said: str) -> set[str]:
    return {directive.strip() for directive in said.lower().split(",")}
