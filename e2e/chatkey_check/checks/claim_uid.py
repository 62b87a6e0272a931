"""claim.uid: the token says who the person is."""

from __future__ import annotations

from collections.abc import Mapping

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.judging.texts import unfilled, whole
from chatkey_check.model import PERSON, Finding, Severity
from chatkey_check.run import Run

MOST = 255
NOBODY = frozenset(
    {
        *("undefined", "null", "none", "nil", "nan", "[object object]", "true", "false"),
        *("0", "-1", "guest", "anonymous", "anonymoususer"),
    }
)
ALIKE = frozenset({"sub", "user_id", "userid", "user", "id", "uuid"})
STABLE = "Set uid to the stable id that your site gives the user, as a string such as String(user.id)."


@check(
    "claim.uid",
    group=PERSON,
    severity=Severity.MUST,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="uid is a string of 1 to 255 characters that identifies a person: not undefined, null, 0 or guest",
    hint=STABLE,
    mistakes=(
        "uid is a number, not a string",
        "the claim has another name, such as sub",
        "undefined, None or AnonymousUser was turned into a string",
        "uid is the whole user object",
    ),
    mend={
        "Python": 'claims["uid"] = str(user.id)',
        "Node.js": "claims.uid = String(user.id);",
        "PHP": "$claims['uid'] = (string) $user->id;",
    },
    needs=("jwt.payload",),
)
@every_token
def uid(_: Run, token: Token) -> Finding:
    """The chat stores the member's conversations under the uid."""
    wrong = _wrong(token.claims)
    return failed(wrong, token.answer) if wrong else passed()


def _wrong(claims: Mapping[str, object]) -> str:
    value = claims.get("uid")
    if "uid" not in claims:
        near = next((name for name in claims if name.lower() in ALIKE), None)
        return f"The claim uid is missing{f'; there is a claim called {near!r}' if near else ''}."
    if not isinstance(value, str):
        return f"uid is {reading.described(value)}, not a string."
    if not value.strip():
        return "uid is an empty string."
    if value.strip().lower() in NOBODY:
        return f"uid is {reading.shown(value)}, which identifies nobody. Take the user's id from the session."
    if value != value.strip():
        return f"uid has white space at its beginning or end: {reading.shown(value)}."
    if any(char < " " or char == "\x7f" for char in value):
        return f"uid contains a control character: {reading.shown(value)}."
    if whole(value):
        return f"uid is an object turned into a string: {reading.shown(value)}."
    if unfilled(value):
        return f"uid is an unfilled template: {reading.shown(value)}."
    return f"uid has {len(value)} characters; the socket accepts at most {MOST}." if len(value) > MOST else ""
