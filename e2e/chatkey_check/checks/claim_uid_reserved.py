"""claim.uid-reserved: the uid does not look like the uid of a social login."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import passed, warned
from chatkey_check.model import PERSON, Finding, Severity
from chatkey_check.run import Run
from chatkey_protocol.names import SOCIALS


@check(
    "claim.uid-reserved",
    group=PERSON,
    severity=Severity.SHOULD,
    section="2.5",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="uid does not have the form of a social provider's name, a colon and an id",
    hint="Use your site's id of the user. A uid that begins with a social provider's name and a colon is reserved for "
    "social logins.",
    mistakes=("the id from your own social login is used as uid, such as google:… or facebook:…",),
    mend={
        "Python": 'claims["uid"] = str(user.id)',
        "Node.js": "claims.uid = String(user.id);",
        "PHP": "$claims['uid'] = (string) $user->id;",
    },
    needs=("claim.uid",),
)
@every_token
def uid_reserved(_run: Run, token: Token) -> Finding:
    """If the uid looks like a social login's uid, people think that the member used a social login."""
    uid = str(token.uid)
    social, colon, _ = uid.partition(":")
    if colon and social.lower() in SOCIALS:
        return warned(f"uid is {reading.shown(uid)}, the form of a social login's uid.", token.answer)
    return passed()
