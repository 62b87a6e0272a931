"""claim.uid-pii: the uid does not reveal to strangers who the person is."""

from __future__ import annotations

import re

from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import passed, warned
from chatkey_check.model import PERSON, Finding, Severity
from chatkey_check.run import Run

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
PHONE = re.compile(r"(?:tel:)?\+\d[\d ().-]{6,}")


@check(
    "claim.uid-pii",
    group=PERSON,
    severity=Severity.INFO,
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="uid is not an e-mail address or a telephone number",
    hint="Use an id without personal data, because uids end up in logs, and e-mail addresses change.",
    mistakes=("the login name is used as uid, and it is the e-mail address or the telephone number",),
    needs=("claim.uid",),
)
@every_token
def uid_pii(_run: Run, token: Token) -> Finding:
    """A uid that is an e-mail address or a telephone number is personal data wherever it is stored or logged."""
    uid = str(token.uid)
    if EMAIL.fullmatch(uid):
        return warned("uid is an e-mail address.", token.answer)
    if PHONE.fullmatch(uid):
        return warned("uid is a telephone number.", token.answer)
    return passed()
