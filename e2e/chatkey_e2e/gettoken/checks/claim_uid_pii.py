"""claim.uid-pii: the uid does not say who the person is to strangers."""

from __future__ import annotations

import re

from chatkey_e2e.gettoken.calls.shared import Calls
from chatkey_e2e.gettoken.judging.findings import passed, warned
from chatkey_e2e.gettoken.model import PERSON, Finding, Severity, check

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
PHONE = re.compile(r"(?:tel:)?\+\d[\d ().-]{6,}")


@check(
    "claim.uid-pii",
    group=PERSON,
    severity=Severity.INFO,
    sent='the honest call: POST {"jkt": …} as the login',
    passes="uid is no e-mail address and no telephone number",
    hint="Prefer an id that says nothing: uids end up in logs, and addresses change.",
    mistakes=("the name to log in with is the e-mail address or the telephone number",),
    needs=("claim.uid",),
)
def uid_pii(calls: Calls) -> Finding:
    """An id that is an address is personal data wherever it is written down."""
    uid = str(calls.uid)
    if EMAIL.fullmatch(uid):
        return warned("uid is an e-mail address.", calls.first)
    if PHONE.fullmatch(uid):
        return warned("uid is a telephone number.", calls.first)
    return passed()
