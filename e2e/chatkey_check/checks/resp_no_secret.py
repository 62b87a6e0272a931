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
    sent="no extra request: every header and body is searched, except those of the page",
    passes="none contains the secret: unchanged, as base64, base64url or hex, URL-encoded, or inside a token",
    hint="Rotate secret_key now, then remove secret_key from the response.",
    mistakes=(
        "an error page shows the configuration",
        "a debug header or a claim was added for testing and never removed",
    ),
    needs=("net.latency",),
    phase=Phase.LAST,
)
def no_secret(run: Run) -> Finding:
    """Anyone who has the secret can sign in as any of your customers."""
    calls = run.calls
    secret = calls.target.secret
    if secret is None:
        raise Skipped("secret_key is needed", "--secret-env NAME")
    if len(secret) < SHORTEST:
        raise Skipped(f"the secret has fewer than {SHORTEST} characters, so it could occur in an answer by chance")
    answers = [exchange for exchange in calls.record.log if exchange.request.label not in {PAGE, SCRIPT}]
    for exchange in answers:
        form = leaked(secret, whole(exchange))
        if form:
            return failed(f"An answer contains the secret {form} (the answer to: {exchange.request.label}).", exchange)
    return passed(f"in {plural(len(answers), 'answer')}")
