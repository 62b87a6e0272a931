"""req.jkt-format: a jkt that is not a thumbprint is refused."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed, warned
from chatkey_check.model import BAD_REQUESTS, Finding, Severity
from chatkey_check.run import Run


@check(
    "req.jkt-format",
    group=BAD_REQUESTS,
    severity=Severity.SHOULD,
    section="RFC 7638",
    sent="a jkt with 42 characters, 44 characters, `=`, `+`, a space, a newline, or a letter that is not ASCII",
    passes="no token",
    hint="Accept only ^[A-Za-z0-9_-]{43}$ in ASCII. The patterns \\w and \\d may match characters of other alphabets.",
    mistakes=(
        "the handler checks only the length, or nothing",
        "the pattern uses \\w, which matches the letters of every alphabet",
    ),
    mend={
        "Python": 're.fullmatch(r"[A-Za-z0-9_-]{43}", jkt)',
        "Node.js": "/^[A-Za-z0-9_-]{43}$/.test(jkt);",
        "PHP": "preg_match('/^[A-Za-z0-9_-]{43}$/D', $jkt);",
    },
    needs=("req.jkt-missing",),
)
def jkt_format(run: Run) -> Finding:
    """If you accepted any text as a jkt, you would sign a token that contains a stranger's text."""
    calls = run.calls
    malformed = _malformed(calls.new_jkt())
    asks = (partial(calls.ask, f"a jkt {what}", calls.member, jkt=jkt) for what, jkt in malformed.items())
    for (what, jkt), answer in zip(malformed.items(), calls.ask_each(asks), strict=False):
        trimmed = answer.jkt == jkt.strip() != jkt
        if answer.minted and not trimmed:
            return warned(f"A jkt {what} gets a token.", answer)
    return passed()


def _malformed(jkt: str) -> Mapping[str, str]:
    return {
        "with 42 characters": jkt[:42],
        "with 44 characters": f"{jkt}A",
        "padded with `=`": f"{jkt}=",
        "with a `+`": f"{jkt[:20]}+{jkt[21:]}",
        "with a newline after it": f"{jkt}\n",
        "with a line before it": f"x\n{jkt}",
        "with a space": f"{jkt[:20]} {jkt[21:]}",
        "with a letter that is not ASCII": f"{jkt[:20]}é{jkt[21:]}",
    }
