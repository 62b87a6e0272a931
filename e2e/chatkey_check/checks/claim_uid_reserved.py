"""claim.uid-reserved: the uid does not look like the uid of a social login."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import also_second, check
from chatkey_check.judging.findings import passed, warned
from chatkey_check.model import PERSON, Finding, Severity
from chatkey_check.run import Run
from chatkey_protocol.names import SOCIALS


@check(
    "claim.uid-reserved",
    group=PERSON,
    severity=Severity.SHOULD,
    section="2.5",
    sent='the honest call: POST {"jkt": …} as the login',
    passes="uid is not the name of a social provider, a colon and an id",
    hint="That form belongs to social logins: use your own id of the user.",
    mistakes=("the id of your own social login is passed on as google:… or facebook:…",),
    mend={
        "Python": 'claims["uid"] = str(user.id)',
        "Node.js": "claims.uid = String(user.id);",
        "PHP": "$claims['uid'] = (string) $user->id;",
    },
    needs=("claim.uid",),
)
@also_second
def uid_reserved(_run: Run, token: Token) -> Finding:
    """People who read a list of members would mistake this member for somebody who used a social login."""
    uid = str(token.uid)
    social, colon, _ = uid.partition(":")
    if colon and social.lower() in SOCIALS:
        return warned(f"uid is {reading.shown(uid)}.", token.answer)
    return passed()
