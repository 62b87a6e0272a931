"""jwt.header-clean: apart from alg, the header contains only harmless members."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
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
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="no crit, b64, zip or enc; typ is absent or JWT; no repeated member; no key and no address of a key",
    hint="Put only alg and typ into the header, and kid if you need kid.",
    mistakes=(
        "typ is a name of your own",
        "the header contains a key or the address of a key",
        "the library is configured to use crit, zip or b64",
        "the header is put together from strings, so a member is repeated",
    ),
    needs=("jwt.alg",),
)
@every_token
def header_clean(_run: Run, token: Token) -> Finding:
    """The socket refuses header members that change the meaning of a token.

    The socket ignores a key in the header. Therefore a key in the header only misleads readers.
    """
    try:
        header = reading.strict_object(token.compact.header)
    except reading.Unreadable as unreadable:
        return failed(f"The header is ambiguous: {unreadable.reason}.", token.answer)
    for name in REFUSED:
        if name in header:
            return failed(f"The header has {name!r}, which the socket refuses.", token.answer, hint=f"Remove {name}.")
    typ = header.get("typ")
    if (typ.lower() if isinstance(typ, str) else typ) not in TYPES:
        hint = "Set typ to JWT, or leave it out."
        return failed(f"typ is {reading.shown(typ)}, not JWT.", token.answer, hint=hint)
    for name in POINTLESS:
        if name in header:
            return warned(
                f"The header has {name!r}, which verifiers must ignore.", token.answer, hint=f"Remove {name}."
            )
    return passed()
