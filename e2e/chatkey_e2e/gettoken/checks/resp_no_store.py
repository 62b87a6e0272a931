"""resp.no-store: nobody keeps the answer."""

from __future__ import annotations

from chatkey_e2e.gettoken.calls.token import Token
from chatkey_e2e.gettoken.judging.check import also_second, check
from chatkey_e2e.gettoken.judging.findings import passed, warned
from chatkey_e2e.gettoken.model import LEAKS, Finding, Severity
from chatkey_e2e.gettoken.run import Run


@check(
    "resp.no-store",
    group=LEAKS,
    severity=Severity.SHOULD,
    sent='the honest call: POST {"jkt": …} as the login',
    passes="Cache-Control has no-store",
    hint="Send Cache-Control: no-store: a proxy may keep a person's token, and give it to the next one.",
    mistakes=("the header is missing, or says private or no-cache only",),
    mend={
        "Python": 'response.headers["Cache-Control"] = "no-store"',
        "Node.js": 'response.set("Cache-Control", "no-store");',
        "PHP": "header('Cache-Control: no-store');",
    },
    needs=("jwt.compact",),
)
@also_second
def no_store(_run: Run, token: Token) -> Finding:
    """A token is one person's."""
    said = ", ".join(token.answer.response.all("cache-control")) if token.answer.response else ""
    if "no-store" in {directive.strip() for directive in said.lower().split(",")}:
        return passed()
    return warned(f"Cache-Control is {said!r}." if said else "There is no Cache-Control.", token.answer)
