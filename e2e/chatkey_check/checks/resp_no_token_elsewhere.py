"""resp.no-token-elsewhere: the token is only in the body of the answer."""

from __future__ import annotations

from urllib.parse import unquote

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed, warned
from chatkey_check.model import LEAKS, Finding, Severity
from chatkey_check.run import Run


@check(
    "resp.no-token-elsewhere",
    group=LEAKS,
    severity=Severity.SHOULD,
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="no header contains the token, such as Set-Cookie, Location or Link",
    hint="Return the token only in the body, because headers end up in logs, and the browser sends a cookie with "
    "every request.",
    mistakes=(
        "the token is also set as a cookie",
        "the token is also sent in a header for another program",
    ),
    needs=("jwt.compact",),
)
def no_token_elsewhere(run: Run) -> Finding:
    """The widget reads the token from the body. A copy of the token in another place can leak from there."""
    token = run.calls.token
    signed = token.text.rpartition(".")[0]
    for name, value in token.answer.response.headers if token.answer.response else ():
        if signed in unquote(value):
            return warned(f"The header {name} also contains the token.", token.answer)
    return passed()
