"""jwt.header-clean: apart from alg, the header contains only harmless members."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import also_second, check
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.model import ANSWERS, Finding, Severity
from chatkey_check.run import Run

REFUSED = ("crit", "b64", "zip", "enc")
POINTLESS = ("jku", "x5u", "jwk", "x5c")
TYPES = (None, "jwt", "application/jwt")


@check(
    "jwt.header-clean",
    group=ANSWERS,
    severity=Severity.SHOULD,
    section="2.4",
    sent='the honest call: POST {"jkt": …} as the login',
    passes="no crit, b64, zip or enc; typ is absent or JWT; no member twice; no key or address of a key",
    hint="Write the header {alg, typ} and nothing else, unless you need kid.",
    mistakes=(
        "typ was chosen freely",
        "a key, or the address of one, is sent along",
        "crit, zip or b64 was switched on",
        "the header is joined from texts, and has a member twice",
    ),
    needs=("jwt.alg",),
)
@also_second
def header_clean(_run: Run, token: Token) -> Finding:
    """The socket refuses header members that change what a token means.

    It ignores a key in the header, which only misleads readers.
    """
    try:
        header = reading.strict_object(token.compact.header)
    except reading.Unreadable as unreadable:
        return failed(f"The header cannot be relied on: {unreadable.reason}.", token.answer)
    for name in REFUSED:
        if name in header:
            return failed(f"The header has {name!r}, which the socket refuses.", token.answer, hint=f"Remove {name}.")
    typ = header.get("typ")
    if (typ.lower() if isinstance(typ, str) else typ) not in TYPES:
        hint = "Write typ: JWT, or leave it out."
        return failed(f"typ is {reading.shown(typ)}: the token says it is something else.", token.answer, hint=hint)
    for name in POINTLESS:
        if name in header:
            return warned(f"The header has {name!r}, which nobody may believe.", token.answer, hint=f"Remove {name}.")
    return passed()
