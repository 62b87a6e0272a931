"""auth.header-ignored: naming another person in a header does not make the caller that person."""

from __future__ import annotations

import base64
import json
from functools import partial

from chatkey_check import reading
from chatkey_check.calls.sessions import Session
from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.judging.forgeries import unsigned
from chatkey_check.judging.victims import Details, Victim, believed, victim_of
from chatkey_check.model import PERSON, Blocked, Finding, Severity, Verdict
from chatkey_check.run import Run

NAMES = (
    *("X-User-Id", "X-User", "X-Uid", "X-Username", "X-UserId", "X-User-Name", "X-Auth-User", "X-Auth-Userid"),
    *("X-Remote-User", "Remote-User", "X-Authenticated-User", "X-Authenticated-Userid", "X-Customer-Id"),
    *("X-Forwarded-User", "X-Forwarded-Preferred-Username", "X-Account-Id", "X-Member-Id", "X-Hasura-User-Id"),
    *("X-Auth-Request-User", "X-Auth-Request-Preferred-Username", "X-Consumer-Custom-Id", "X-Consumer-Username"),
    *("X-MS-Client-Principal-Id", "X-Amzn-Oidc-Identity", "Oidc-Claim-Sub", "X-Webauth-User", "X-Vouch-User"),
    *("X-Ssl-Client-Cn", "X-Ssl-Client-S-Dn-Cn", "X-Client-Cn", "X-Client-Cert-Cn", "X-Tls-Client-Cn"),
    *("X-Authentik-Uid", "X-Authentik-Username", "X-Pomerium-Claim-Sub", "Tailscale-User-Login"),
)
"""Headers in which gateways, and backends behind them, name the person."""
INSTEAD = (
    *("X-Impersonate-User", "X-Impersonate-User-Id", "X-Impersonated-User", "Impersonate-User", "X-Impersonate"),
    *("X-Switch-User", "X-On-Behalf-Of", "On-Behalf-Of", "X-Act-As", "X-Acting-As", "X-Login-As", "X-As-User"),
    *("X-Sudo", "Sudo", "X-Debug-User", "X-Test-User", "X-Dev-User"),
)
"""Headers with which support staff and tests act as another person."""
CERTIFICATE_NAMES = (
    *("X-Ssl-Client-S-Dn", "X-Ssl-Client-Dn", "Ssl-Client-S-Dn", "X-Client-Cert-Dn", "X-Client-Dn", "X-Client-Subject"),
    *("X-Tls-Client-Subject", "X-Client-Cert-Subject", "X-Ssl-Client-Subject", "X-Ssl-Subject", "X-Client-Verify-Dn"),
)
"""Headers in which a gateway passes on the subject of a client certificate."""
JWT_NAMES = (
    *("X-Amzn-Oidc-Data", "Cf-Access-Jwt-Assertion", "X-Goog-Iap-Jwt-Assertion", "X-Jwt-Assertion"),
    *("X-Forwarded-Access-Token", "X-Auth-Request-Access-Token"),
)
"""Headers in which gateways pass on a signed JWT about the person. A backend has to verify the JWT."""
EMAIL_NAMES = (
    *("X-User-Email", "X-Forwarded-Email", "X-Auth-Request-Email", "X-MS-Client-Principal-Name", "Remote-Email"),
    *("Cf-Access-Authenticated-User-Email", "X-Goog-Authenticated-User-Email", "X-Pomerium-Claim-Email"),
)


@check(
    "auth.header-ignored",
    group=PERSON,
    severity=Severity.MUST,
    section="4.7",
    sent="the call with another person's id in headers such as X-User-Id, X-Forwarded-User and X-Impersonate-User, "
    "logged in and logged out; and logged out with the login's uid in Authorization, also in an unsigned JWT, and in "
    "the headers in which gateways pass on a JWT",
    passes="uid does not change, and the logged-out call gets no token of that person",
    hint="Remove identity headers at the gateway, and take the user from the session. Anyone can send a header.",
    mistakes=(
        "a gateway sets X-Forwarded-User, but does not strip the one that the client sent",
        "X-Impersonate-User, which is meant for support staff, works for everybody",
        "a JWT in Authorization is decoded without verifying its signature, because a gateway should have done so",
    ),
    mend={
        "nginx": 'proxy_set_header X-Forwarded-User "";',
    },
    needs=("claim.uid-stable",),
)
def header_ignored(run: Run) -> Finding:
    """If your gateway sets a header that names the user, anyone who gets past the gateway can set the header too."""

    def ask(session: Session, details: Details) -> Exchange:
        headers = [(path[0], str(value)) for path, value in details]
        return run.calls.ask("another person named in headers", session, headers=headers)

    found = believed(run.calls, "headers", _named, ask)
    return found if found.verdict is not Verdict.PASS else _by_authorization(run.calls)


def _named(victim: Victim) -> Details:
    ids = [((name,), victim.uid) for name in (*NAMES, *INSTEAD)]
    mails = [((name,), victim.email) for name in EMAIL_NAMES]
    certificates = [((name,), f"CN={victim.uid}") for name in CERTIFICATE_NAMES]
    return [*ids, *mails, *certificates]


def _by_authorization(calls: Calls) -> Finding:
    """Call without a login, and with the first person's uid or e-mail address as the credential, without a password."""
    person = victim_of(calls.token.claims)
    if calls.makes_guests:
        return passed()
    basic = (base64.b64encode(f"{name}:".encode()).decode() for name in (person.uid, person.email))
    made_up = (f"Bearer {jwt}" for jwt in unsigned(person))
    credentials = [f"Bearer {person.uid}", *(f"Basic {credential}" for credential in basic), *made_up]
    headers = [("Authorization", credential) for credential in credentials]
    headers += [(name, jwt) for jwt in [*unsigned(person)][-1:] for name in JWT_NAMES]
    headers.append(("X-MS-Client-Principal", _principal(person)))
    asks = [partial(calls.ask, f"a person named in {one[0]}", calls.nobody, headers=[one]) for one in headers]
    for (name, _), answer in zip(headers, calls.ask_each(asks), strict=False):
        if answer.minted:
            if calls.made_up.minted:
                raise Blocked("anon.garbage-session")  # the endpoint accepts any credential
            what = f"Without a login, naming {reading.shown(answer.uid)} in {name} is enough to get their token."
            return failed(what, answer, hint=f"Verify the credentials in {name}. An id is not a secret.")
    return passed()


def _principal(person: Victim) -> str:
    """Return a person in the form in which Azure passes people on. It is not signed."""
    claims = {"auth_typ": "aad", "userId": person.uid, "userDetails": person.email, "claims": []}
    return base64.b64encode(json.dumps(claims).encode()).decode()
