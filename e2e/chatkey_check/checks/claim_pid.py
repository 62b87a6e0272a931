"""claim.pid: the token names this provider."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.calls.shared import Calls
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
        return _in_other_languages(run.calls, wanted)
    if got.strip().lower() == wanted.lower():
        return failed(
            f"pid is {reading.shown(got)}, not {wanted!r}.",
            token.answer,
            hint="Use the provider id exactly as it was given to you.",
        )
    hint = "This may be the provider id of another environment. Check where the backend reads the id from."
    return failed(f"pid is {reading.shown(got)}, not {wanted!r}.", token.answer, hint=hint)


def _in_other_languages(calls: Calls, wanted: str) -> Finding:
    """Judge the pid for visitors with other languages. A site with several shops may choose the shop by language."""
    for language in LANGUAGES:
        answer = calls.ask("the call of a browser with another language", calls.member, headers=[language])
        got = answer.claims.get("pid")
        if answer.minted and got != wanted:
            hint = "Take pid from the configuration: the page has one providerId for all languages."
            what = f"With {': '.join(language)}, pid is {reading.shown(got)}, not {wanted!r}."
            return failed(what, answer, hint=hint)
    return passed()


LANGUAGES = (("Accept-Language", "de-DE,de;q=0.9"), ("Accept-Language", "fr-FR,fr;q=0.9"))
ALIKE = frozenset({"pid", "provider", "provider_id", "providerid", "iss", "aud"})
