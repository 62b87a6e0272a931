"""claim.display: the name and the e-mail address can be displayed."""

from __future__ import annotations

import re
import unicodedata

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import also_second, check
from chatkey_check.judging.findings import passed, warned
from chatkey_check.judging.texts import unfilled, whole
from chatkey_check.model import LEAKS, Finding, Severity
from chatkey_check.run import Run

MOST = 255
OVERRIDES = "\u202d\u202e"
"""Control characters that reverse the direction of the text after them."""
UNSET = re.compile(r"(?:undefined|null|None)(?: (?:undefined|null|None))*")

ESCAPED = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,5});")


@check(
    "claim.display",
    group=LEAKS,
    severity=Severity.SHOULD,
    section="2.4",
    sent='the honest call: POST {"jkt": …} as the login',
    passes="name and email are strings of at most 255 characters without control characters or escapes, or absent",
    hint="Send strings, and leave out what you do not have.",
    mistakes=(
        "the name is an object of first and last name",
        "undefined, or None, was turned into text",
        "the name is escaped for HTML: O&#39;Brien",
    ),
    mend={
        "Python": 'claims |= {"name": user.name} if user.name else {}',
        "Node.js": "if (user.name) claims.name = user.name;",
        "PHP": "if ($user->name) { $claims['name'] = $user->name; }",
    },
    needs=("jwt.payload",),
)
@also_second
def display(_run: Run, token: Token) -> Finding:
    """The name and the e-mail address are displayed to the member and to your agents."""
    for name in ("name", "email"):
        wrong = _wrong(token.claims.get(name))
        if wrong:
            return warned(f"{name} {wrong}.", token.answer)
    return passed()


def _wrong(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return f"is {reading.described(value)}, not a string"
    if len(value) > MOST:
        return f"has {len(value)} characters; {MOST} are shown"
    if any(unicodedata.category(char) in {"Cc", "Cs"} or char in OVERRIDES for char in value):
        return f"has a control character in it: {reading.shown(value)}"
    if whole(value):
        return f"is a whole object turned into text: {reading.shown(value)}"
    if unfilled(value):
        return f"is a template that nobody filled in: {reading.shown(value)}"
    if ESCAPED.search(value):
        return f"is escaped for HTML: {reading.shown(value)}; it is shown as text"
    return f"is {reading.shown(value)}: a value that was not there" if UNSET.fullmatch(value) else ""
