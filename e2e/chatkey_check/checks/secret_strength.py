"""secret.strength: the secret cannot be guessed."""

from __future__ import annotations

import re

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed, warned
from chatkey_check.model import LEAKS, Finding, Severity, Skipped
from chatkey_check.run import Run

LEAST = 32
KNOWN = frozenset(
    {
        "your-256-bit-secret-your-256-bit-secret",
        "a-string-secret-at-least-256-bits-long",
        "a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long",
        "your-secret-key-at-least-32-characters-long",
        "your-secret-key-must-be-at-least-32-characters-long",
        "this-is-a-very-secret-key-change-me",
        "change-me-to-a-32-character-secret",
        "changeme-changeme-changeme-changeme",
        "abcdefghijklmnopqrstuvwxyz012345",
        "abcdefghijklmnopqrstuvwxyz123456",
        "01234567890123456789012345678901",
        "12345678901234567890123456789012",
        "0123456789abcdef0123456789abcdef",
        "supersecretsupersecretsupersecret",
    }
)
"""Secrets from manuals and examples. Only those that are long enough are listed."""
REPEATED = re.compile(r"(.{1,8})\1{3,}.{0,7}", re.DOTALL)


@check(
    "secret.strength",
    group=LEAKS,
    severity=Severity.SHOULD,
    section="RFC 7518 3.2",
    sent="no request: the secret is examined on this machine",
    passes="the secret has at least 32 bytes and is not a well-known word, a pattern or a PEM key",
    hint="Rotate secret_key, and use the generated secret, because HS256 needs 256 random bits.",
    mistakes=(
        "the secret is a word or an example from a manual",
        "a person made up the secret",
    ),
)
def strength(run: Run) -> Finding:
    """Anyone who has one token can try to guess the secret offline, with millions of attempts per second."""
    secret = run.calls.target.secret
    if secret is None:
        raise Skipped("secret_key is needed", "--secret-env NAME")
    if "-----BEGIN" in secret:
        hint = "Use secret_key. A PEM key is for RS256, and its public half is not secret."
        return warned("The secret is a PEM key.", hint=hint)
    size = len(secret.encode())
    if size < LEAST:
        return warned(f"The secret has {size} bytes; HS256 needs {LEAST}.")
    if secret.strip().lower() in KNOWN or secret.lower().startswith("django-insecure-"):
        return warned("The secret is a well-known example from manuals.")
    if REPEATED.fullmatch(secret):
        return warned("The secret repeats the same few characters.")
    return passed(f"{size} bytes")
