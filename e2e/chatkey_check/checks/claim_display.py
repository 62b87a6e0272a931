"""claim.display: the name and the e-mail address can be displayed."""

from __future__ import annotations

import re
import unicodedata

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import passed, warned
from chatkey_check.judging.texts import unfilled, whole
from chatkey_check.model import LEAKS, Finding, Severity, Where
from chatkey_check.run import Run

MOST = 255
OVERRIDES = "\u202d\u202e"
"""Control characters that reverse the direction of the text after them."""
UNSET = re.compile(r"(?:undefined|null|None)(?: (?:undefined|null|None))*|(?:.* )?(?:undefined|null)(?: .*)?")
"""Texts that stand for a missing value, or contain one. Null and None are also surnames."""
HTML = re.compile(r"</[a-zA-Z][a-zA-Z0-9]*\s*>")

ESCAPED = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,5});")


@check(
    "claim.display",
    group=LEAKS,
    severity=Severity.SHOULD,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="name and email are absent, or strings of at most 255 characters without control characters or HTML escapes",
    hint="Send name and email as strings, and omit a value that you do not have.",
    mistakes=(
        "the name is an object with first and last name",
        "undefined or None was turned into a string",
        "the name is escaped for HTML: O&#39;Brien",
        "the database connection reads UTF-8 as Latin-1: BjÃ¶rn",
        "a helper for links or badges returns the name with its HTML",
    ),
    mend={
        "Python": 'claims |= {"name": user.name} if user.name else {}',
        "Node.js": "if (user.name) claims.name = user.name;",
        "PHP": "if ($user->name) { $claims['name'] = $user->name; }",
    },
    needs=("jwt.payload",),
)
@every_token
def display(_run: Run, token: Token) -> Finding:
    """The name and the e-mail address are displayed to the member and to your agents."""
    for name in ("name", "email"):
        wrong = _wrong(token.claims.get(name))
        if wrong:
            return warned(f"{name} {wrong}.", token.answer, where=Where(name))
    return passed()


def _wrong(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return f"is {reading.described(value)}, not a string"
    if len(value) > MOST:
        return f"has {len(value)} characters; {MOST} are shown"
    if any(unicodedata.category(char) in {"Cc", "Cs"} or char in OVERRIDES for char in value):
        return f"contains a control character: {reading.shown(value)}"
    if whole(value):
        return f"is an object turned into a string: {reading.shown(value)}"
    if unfilled(value):
        return f"is an unfilled template: {reading.shown(value)}"
    if (right := _read_as_latin_1(value)) is not None:
        return f"is {reading.shown(value)}, which is {reading.shown(right)} in UTF-8, read as Latin-1"
    if "\ufffd" in value:
        return f"is {reading.shown(value)}: text in another encoding was read as UTF-8"
    if HTML.search(value):
        return f"contains HTML: {reading.shown(value)}. It is displayed unchanged"
    if ESCAPED.search(value):
        return f"is escaped for HTML: {reading.shown(value)}. It is displayed unchanged"
    return f"is {reading.shown(value)}, which stands for a missing value" if UNSET.fullmatch(value) else ""


def _read_as_latin_1(value: str) -> str | None:
    """Return the text that was meant, if UTF-8 was read as Latin-1 or as Windows-1252; otherwise None."""
    for encoding in ("latin-1", "cp1252"):
        try:
            meant = value.encode(encoding).decode()
        except UnicodeError:
            continue
        return meant if meant != value else None
    return None
