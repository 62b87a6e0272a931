"""jwt.signature: the token is signed with the provider's secret."""

from __future__ import annotations

import hmac

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.mistakes import signatures
from chatkey_check.model import ANSWERS, Finding, Severity, Skipped
from chatkey_check.run import Run


@check(
    "jwt.signature",
    group=ANSWERS,
    severity=Severity.MUST,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="the signature is the HMAC-SHA256 of the first two segments, with the UTF-8 bytes of secret_key as its key",
    hint="Sign with secret_key exactly as you received the key. Do not decode the key and do not add anything. The "
    "signature matches none of the known mistakes. Your backend may use the secret of another environment "
    "(--other-secret-env).",
    mistakes=(
        "the code decodes the secret from base64 or hex",
        "the secret was read with a newline, a space or quotes from a file or the environment",
        "the variable is not set, so the word undefined or None is the key",
        "the secret is of another environment",
        "the signature is encoded as hex, or encoded twice",
    ),
    mend={
        "Python": 'secret_key = os.environ["CHAT_SECRET"].strip()',
        "Node.js": "const secretKey = process.env.CHAT_SECRET.trim();",
        "PHP": "$secretKey = trim(getenv('CHAT_SECRET'));",
    },
    needs=("jwt.alg",),
)
@every_token
def signature(run: Run, token: Token) -> Finding:
    """Anyone who has the secret can sign in as anyone. The socket rejects a token that is signed with another key."""
    target, compact = run.calls.target, token.compact
    secret = target.secret
    if secret is None:
        if len(compact.signature) != reading.SHA256_BYTES:
            wrong = signatures.of_wrong_length(compact)
            return failed(wrong.message, token.answer, hint=wrong.hint)
        public = signatures.public(compact, target.provider_id)
        if public is not None:
            return failed(public.message, token.answer, hint=public.hint)
        raise Skipped("secret_key is needed", "--secret-env NAME")
    if hmac.compare_digest(compact.signature, reading.hs256(secret.encode(), compact.signed)):
        return passed()
    cause = signatures.explained(token.text, compact, secret, target.provider_id, target.other_secrets)
    if cause is None:
        return failed("The signature does not match secret_key.", token.answer)
    return failed(cause.message, token.answer, hint=cause.hint)
