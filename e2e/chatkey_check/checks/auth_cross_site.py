"""auth.cross-site: a page of another site cannot make the call with your visitor's cookies."""

from __future__ import annotations

from chatkey_check.calls.shared import ABROAD, FOREIGN
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed, warned
from chatkey_check.model import LEAKS, Finding, Severity, Skipped
from chatkey_check.run import Run


@check(
    "auth.cross-site",
    group=LEAKS,
    severity=Severity.SHOULD,
    sent=f"the call with Sec-Fetch-Site: cross-site and Origin: {FOREIGN}, logged in",
    passes="no token, or the session's cookie is SameSite=Lax or Strict",
    hint="Set the session's cookie with SameSite=Lax, or refuse a request whose Origin is not your own.",
    mistakes=("the session's cookie is SameSite=None, for pages that are embedded in other sites",),
    mend={
        "Python": 'response.set_cookie("sid", sid, httponly=True, secure=True, samesite="Lax")',
        "Node.js": 'response.cookie("sid", sid, { httpOnly: true, secure: true, sameSite: "lax" });',
        "PHP": "session_set_cookie_params(['httponly' => true, 'secure' => true, 'samesite' => 'Lax']);",
    },
    needs=("jwt.compact",),
)
def cross_site(run: Run) -> Finding:
    """Another site's page could not read the answer, but your endpoint would still issue a token for your visitor."""
    calls = run.calls
    session, answer = calls.member, calls.cross_site
    if not answer.minted:
        return passed(f"a page of another site gets {answer.result}")
    if not session.cookies:
        return passed("the login is a header, which browsers do not add by themselves")
    if not session.same_site:
        reason = "another site gets a token if the browser sends the cookie; only its Set-Cookie line shows that"
        raise Skipped(reason, "--login-url with --login-field")
    loose = session.sent_across_sites()
    if not loose.cookies:
        return passed("browsers do not send the cookie from other sites (SameSite)")
    answer = calls.ask("the same, only with the cookies that are SameSite=None", loose, headers=ABROAD)
    if not answer.minted:
        return passed("the cookies that are sent from other sites (SameSite=None) are not a login")
    names = ", ".join(loose.cookies)
    return warned(f"The cookie {names} is SameSite=None, and the endpoint does not check Origin.", answer)
