"""resp.no-secret: no answer contains the secret."""

from __future__ import annotations

from chatkey_check.checks.page_no_secret import PAGE, SCRIPT
from chatkey_check.evidence.leaks import SHORTEST, leaked, whole
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import LEAKS, Finding, Phase, Severity, Skipped
from chatkey_check.run import Run
from chatkey_check.words import plural


@check(
    "resp.no-secret",
    group=LEAKS,
    severity=Severity.MUST,
    section="2.1, 5.3",
    sent="nothing of its own: every header and body is searched, but those of the page",
    passes="the secret is nowhere: as it is, as base64, base64url or hex, URL-encoded, or inside of a token",
    hint="Your response contains secret_key. Rotate it now, then take it out.",
    mistakes=(
        "a page of errors shows the configuration",
        "a debug header, or a claim, that was there to try something out",
    ),
    needs=("net.latency",),
    phase=Phase.LAST,
)
def no_secret(run: Run) -> Finding:
    """Anyone who has the secret can sign in as any of your customers."""
    calls = run.calls
    secret = calls.target.secret
    if secret is None:
        raise Skipped("it takes the secret", "--secret-env NAME")
    if len(secret) < SHORTEST:
        raise Skipped(f"the secret has fewer than {SHORTEST} characters, and would be found by chance")
    answers = [exchange for exchange in calls.record.log if exchange.request.label not in {PAGE, SCRIPT}]
    for exchange in answers:
        form = leaked(secret, whole(exchange))
        if form:
            return failed(f"The secret stands in an answer, {form} (to: {exchange.request.label}).", exchange)
    return passed(f"in {plural(len(answers), 'answer')}")
