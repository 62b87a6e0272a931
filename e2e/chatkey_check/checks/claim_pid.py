"""claim.pid: the token names this provider."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import PERSON, Finding, Severity, Skipped
from chatkey_check.run import Run


@check(
    "claim.pid",
    group=PERSON,
    severity=Severity.MUST,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="pid is the provider id, a string",
    hint="Set pid to your provider id, as a string. The value must be the same as providerId on the page.",
    mistakes=(
        "the pid is of another environment",
        "the pid is a number, or the name of the shop",
        "the claim has another name, such as provider_id",
    ),
    mend={
        "Python": 'claims["pid"] = os.environ["CHAT_PROVIDER_ID"]',
        "Node.js": "claims.pid = process.env.CHAT_PROVIDER_ID;",
        "PHP": "$claims['pid'] = getenv('CHAT_PROVIDER_ID');",
    },
    needs=("jwt.payload",),
)
@every_token
def pid(run: Run, token: Token) -> Finding:
    """The provider id determines which secret verifies the token."""
    wanted, got = run.calls.target.provider_id, token.claims.get("pid")
    if "pid" not in token.claims:
        near = next((name for name in token.claims if name.lower() in ALIKE), None)
        return failed(f"The claim pid is missing{f'; there is a claim called {near!r}' if near else ''}.", token.answer)
    if not isinstance(got, str) or not got:
        return failed(f"pid is {reading.shown(got)}, not a non-empty string.", token.answer)
    if wanted is None:
        raise Skipped(f"pid is {reading.shown(got)}; the provider id is needed to compare it", "--provider-id ID")
    if got == wanted:
        return passed()
    if got.strip().lower() == wanted.lower():
        return failed(
            f"pid is {reading.shown(got)}, not {wanted!r}.",
            token.answer,
            hint="Use the provider id exactly as it was given to you.",
        )
    hint = "This may be the provider id of another environment. Check where the backend reads the id from."
    return failed(f"pid is {reading.shown(got)}, not {wanted!r}.", token.answer, hint=hint)


ALIKE = frozenset({"pid", "provider", "provider_id", "providerid", "iss", "aud"})
