"""Every refusal of the server: one exception, and one table of what each code means on the wire."""

from dataclasses import dataclass
from typing import Final

from chatkey_protocol.codes import Close, Code


@dataclass(frozen=True, slots=True)
class Meaning:
    """How a code travels: the HTTP status, the socket's close code, and whether the same attempt may succeed later."""

    status: int
    close: Close
    retryable: bool = False


MEANINGS: Final[dict[Code, Meaning]] = {
    Code.PARAMETER_MISSING: Meaning(400, Close.BAD_FRAME),
    Code.PARAMETER_INVALID: Meaning(400, Close.BAD_FRAME),
    Code.PARAMETER_REPEATED: Meaning(400, Close.BAD_FRAME),
    Code.NOT_FOUND: Meaning(404, Close.BAD_FRAME),
    Code.METHOD_NOT_ALLOWED: Meaning(405, Close.BAD_FRAME),
    Code.MEDIA_TYPE_UNSUPPORTED: Meaning(415, Close.BAD_FRAME),
    Code.TOO_LARGE: Meaning(413, Close.TOO_BIG),
    Code.RATE_LIMITED: Meaning(429, Close.RATE_LIMITED, retryable=True),
    Code.UNAVAILABLE: Meaning(503, Close.TRY_LATER, retryable=True),
    Code.INTERNAL: Meaning(500, Close.TRY_LATER, retryable=True),
    Code.PROVIDER_UNKNOWN: Meaning(404, Close.FORBIDDEN),
    Code.PROVIDER_OFF: Meaning(403, Close.FORBIDDEN),
    Code.SOCIAL_UNKNOWN: Meaning(404, Close.FORBIDDEN),
    Code.SOCIAL_DISABLED: Meaning(404, Close.FORBIDDEN),
    Code.INSECURE_ORIGIN: Meaning(403, Close.FORBIDDEN),
    Code.ORIGIN_NOT_ALLOWED: Meaning(403, Close.FORBIDDEN),
    Code.TOKEN_MALFORMED: Meaning(401, Close.TOKEN),
    Code.TOKEN_TOO_LARGE: Meaning(401, Close.TOKEN),
    Code.TOKEN_HEADER: Meaning(401, Close.TOKEN),
    Code.TOKEN_ALG: Meaning(401, Close.TOKEN),
    Code.TOKEN_SIGNATURE: Meaning(401, Close.TOKEN),
    Code.TOKEN_CLAIMS: Meaning(401, Close.TOKEN),
    Code.TOKEN_TYPE: Meaning(401, Close.TOKEN),
    Code.TOKEN_PROVIDER: Meaning(401, Close.TOKEN),
    Code.TOKEN_EXPIRED: Meaning(401, Close.TOKEN_EXPIRED),
    Code.TOKEN_NOT_YET_VALID: Meaning(401, Close.TOKEN),
    Code.TOKEN_KEY_MISMATCH: Meaning(401, Close.FORBIDDEN),
    Code.TOKEN_REVOKED: Meaning(401, Close.FORBIDDEN),
    Code.PROOF_BINDING_MISSING: Meaning(401, Close.FORBIDDEN),
    Code.PROOF_MALFORMED: Meaning(401, Close.FORBIDDEN),
    Code.PROOF_TYP: Meaning(401, Close.FORBIDDEN),
    Code.PROOF_ALG: Meaning(401, Close.FORBIDDEN),
    Code.PROOF_JWK: Meaning(401, Close.FORBIDDEN),
    Code.PROOF_CLAIMS: Meaning(401, Close.FORBIDDEN),
    Code.PROOF_SIGNATURE: Meaning(401, Close.FORBIDDEN),
    Code.PROOF_KEY_MISMATCH: Meaning(401, Close.FORBIDDEN),
    Code.PROOF_NONCE: Meaning(401, Close.NONCE, retryable=True),
    Code.PROOF_HTM: Meaning(401, Close.FORBIDDEN),
    Code.PROOF_HTU: Meaning(401, Close.FORBIDDEN),
    Code.PROOF_ATH: Meaning(401, Close.FORBIDDEN),
    Code.FRAME_TOO_LARGE: Meaning(413, Close.TOO_BIG),
    Code.FRAME_INVALID: Meaning(400, Close.BAD_FRAME),
    Code.FRAME_UNEXPECTED: Meaning(400, Close.BAD_FRAME),
    Code.AUTH_TIMEOUT: Meaning(408, Close.AUTH_TIMEOUT, retryable=True),
    Code.IDENTITY_CHANGED: Meaning(409, Close.IDENTITY_CHANGED),
    Code.CALL_UNKNOWN: Meaning(404, Close.BAD_FRAME),
    Code.RESTARTING: Meaning(503, Close.RESTART, retryable=True),
    Code.STATE_INVALID: Meaning(400, Close.FORBIDDEN),
    Code.STATE_EXPIRED: Meaning(400, Close.FORBIDDEN),
    Code.STATE_USED: Meaning(400, Close.FORBIDDEN),
    Code.OAUTH_DENIED: Meaning(400, Close.FORBIDDEN),
    Code.OAUTH_FAILED: Meaning(502, Close.TRY_LATER, retryable=True),
}


class Refused(Exception):
    """What was asked is refused, with a stable code and a message for the person who will read it.

    `message` says what happened, names the member at fault and what to do; it never carries a secret or a token.
    `cause`, where it can be told, is the likely mistake behind it ("exp looks like milliseconds"), for the log and
    for the widget's remediation.
    """

    def __init__(self, code: Code, message: str, *, member: str | None = None, cause: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.member = member
        self.cause = cause

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    @property
    def meaning(self) -> Meaning:
        """Status, close code and retryability of this refusal."""
        return MEANINGS[self.code]
