"""auth.token-no-login: a chat token cannot be used to log in at the shop."""

from __future__ import annotations

from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import PERSON, Blocked, Finding, Severity, Skipped
from chatkey_check.run import Run


@check(
    "auth.token-no-login",
    group=PERSON,
    severity=Severity.MUST,
    section="5.3",
    sent="the call without a login, with the token of the first call in Authorization, and then in every cookie",
    passes="no token; and --whoami, called in the same way, does not answer 200",
    hint="Sign session tokens with another key, and check that a token is a session token. The chat token is only for "
    "the chat.",
    mistakes=(
        "your own sessions are also signed with secret_key",
        "a middleware accepts any token with a valid signature as a login",
    ),
    mend={
        "Python": 'try:\n    session = jwt.decode(cookie, session_key, algorithms=["HS256"], audience="session")\n'
        "except jwt.InvalidTokenError:\n    session = {}",
        "Node.js": "let session = {};\ntry {\n  session = jwt.verify(cookie, sessionKey, "
        '{ algorithms: ["HS256"], audience: "session" });\n} catch {}',
    },
    needs=("claim.uid-stable", "anon.null"),
)
def token_no_login(run: Run) -> Finding:
    """Every script of the page can read the chat token.

    If the shop accepted the chat token as a login, every script of the page would have access to the whole account.
    """
    calls = run.calls
    for answer in _answers(calls):
        if answer.minted or (answer.request.url == calls.target.whoami and answer.status == 200):
            if calls.made_up.minted:
                raise Blocked("anon.garbage-session")  # the endpoint accepts any cookie
            return failed("The site accepts the chat token as a login.", answer)
    return passed()


def _answers(calls: Calls) -> list[Exchange]:
    token = calls.token.text
    bearer = (("Authorization", f"Bearer {token}"),)
    cookies = calls.nobody.with_cookies(dict.fromkeys(calls.member.cookies, token))
    answers = [calls.ask("the token as a session, in a header", calls.nobody, headers=bearer)]
    if cookies.cookies:
        in_all = calls.ask("the token as a session, in cookies", cookies)
        answers.append(in_all)
        if in_all.limited:  # so many copies are too large
            single = [calls.nobody.with_cookies({name: token}) for name in cookies.cookies]
            one_by_one = [calls.ask("the token as a session, in a cookie", session) for session in single]
            if any(one.limited for one in one_by_one):
                raise Skipped(f"a call with the token in a cookie is over a limit ({in_all.result})")
            answers += one_by_one
    if calls.target.whoami and calls.fetch("--whoami, logged out", calls.target.whoami, calls.nobody).status != 200:
        answers.append(
            calls.fetch("--whoami, with the token as a session", calls.target.whoami, calls.nobody.bearing(bearer))
        )
    return answers
