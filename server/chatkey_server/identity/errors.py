"""Defines all refusals of the server: one exception, and one table with the meaning of each code."""

from dataclasses import dataclass
from typing import Final

from chatkey_protocol.codes import Close, Code


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a refusal code means: HTTP status, close code, help text, and whether the same attempt may succeed later."""

    status: int
    close: Close
    help: str
    retryable: bool = False


MEANINGS: Final[dict[Code, Meaning]] = {
    Code.PARAMETER_MISSING: Meaning(
        400, Close.BAD_FRAME, "A required query or form parameter is missing; the message names it."
    ),
    Code.PARAMETER_INVALID: Meaning(
        400, Close.BAD_FRAME, "A parameter is malformed; the message names it and describes the expected form."
    ),
    Code.PARAMETER_REPEATED: Meaning(400, Close.BAD_FRAME, "A parameter was given twice; send it once."),
    Code.NOT_FOUND: Meaning(
        404, Close.BAD_FRAME, "Nothing exists at this address; addresses are exact, without a trailing slash."
    ),
    Code.METHOD_NOT_ALLOWED: Meaning(
        405, Close.BAD_FRAME, "This address does not support the method; `Allow` lists the supported ones."
    ),
    Code.MEDIA_TYPE_UNSUPPORTED: Meaning(
        415, Close.BAD_FRAME, "The body has an unsupported content type; the message names the supported one."
    ),
    Code.TOO_LARGE: Meaning(413, Close.TOO_BIG, "The request is larger than the documented limit."),
    Code.RATE_LIMITED: Meaning(
        429,
        Close.RATE_LIMITED,
        "Too many requests in a short time; wait for the seconds in `Retry-After`.",
        retryable=True,
    ),
    Code.UNAVAILABLE: Meaning(
        503, Close.TRY_LATER, "The database is temporarily unreachable. Nothing was changed; try again.", retryable=True
    ),
    Code.INTERNAL: Meaning(
        500, Close.TRY_LATER, "The server had an internal error; its log has the details.", retryable=True
    ),
    Code.PROVIDER_UNKNOWN: Meaning(
        404, Close.FORBIDDEN, "No provider has this id; check that `providerId` belongs to this environment."
    ),
    Code.PROVIDER_OFF: Meaning(403, Close.FORBIDDEN, "The provider is switched off."),
    Code.SOCIAL_UNKNOWN: Meaning(404, Close.FORBIDDEN, "No social provider has this name."),
    Code.SOCIAL_DISABLED: Meaning(
        404, Close.FORBIDDEN, "The social provider is not enabled for this business, or its keys are missing."
    ),
    Code.INSECURE_ORIGIN: Meaning(
        403, Close.FORBIDDEN, "The page was loaded over plain http; serve it over https, or from localhost."
    ),
    Code.ORIGIN_NOT_ALLOWED: Meaning(
        403,
        Close.FORBIDDEN,
        (
            "The page's origin is not a registered domain of this provider; register the origin exactly as the "
            "browser sends it."
        ),
    ),
    Code.TOKEN_MALFORMED: Meaning(
        401,
        Close.TOKEN,
        "The token is not three base64url segments, or its JSON is not strict; pass the token on unchanged.",
    ),
    Code.TOKEN_TOO_LARGE: Meaning(401, Close.TOKEN, "The token is larger than 8 KB; leave profile data out of it."),
    Code.TOKEN_HEADER: Meaning(
        401,
        Close.TOKEN,
        "The header contains a member or value that is not accepted, such as `crit` or a wrong `typ`.",
    ),
    Code.TOKEN_ALG: Meaning(401, Close.TOKEN, "The token is not signed with HS256."),
    Code.TOKEN_SIGNATURE: Meaning(
        401,
        Close.TOKEN,
        (
            "The MAC does not verify with the provider's `secret_key`; if a common mistake explains it, the log "
            "names the mistake."
        ),
    ),
    Code.TOKEN_CLAIMS: Meaning(
        401, Close.TOKEN, "A claim is missing, has the wrong type, or is out of bounds; the message names it."
    ),
    Code.TOKEN_TYPE: Meaning(401, Close.TOKEN, "The token has the wrong `type` for the place where it was sent."),
    Code.TOKEN_PROVIDER: Meaning(401, Close.TOKEN, "`pid` is not the id of this provider."),
    Code.TOKEN_EXPIRED: Meaning(401, Close.TOKEN_EXPIRED, "`exp` has passed; get a new token."),
    Code.TOKEN_NOT_YET_VALID: Meaning(
        401,
        Close.TOKEN,
        "`iat` or `nbf` is more than 60 seconds in the future; correct the clock of the machine that made the token.",
    ),
    Code.TOKEN_KEY_MISMATCH: Meaning(401, Close.FORBIDDEN, "The identity token is bound to a key other than `jkt`."),
    Code.TOKEN_REVOKED: Meaning(
        401, Close.FORBIDDEN, "The login that this token comes from was switched off, or the person's data was erased."
    ),
    Code.PROOF_BINDING_MISSING: Meaning(
        401, Close.FORBIDDEN, "The member token has no usable `cnf.jkt`; set it to the `jkt` that getToken received."
    ),
    Code.PROOF_MALFORMED: Meaning(401, Close.FORBIDDEN, "The proof is not a compact JWS with strict JSON."),
    Code.PROOF_TYP: Meaning(401, Close.FORBIDDEN, "The proof's `typ` is not `wf-proof+jwt`."),
    Code.PROOF_ALG: Meaning(401, Close.FORBIDDEN, "The proof's `alg` is not `ES256`."),
    Code.PROOF_JWK: Meaning(401, Close.FORBIDDEN, "`jwk` is not a single public P-256 key in its canonical form."),
    Code.PROOF_CLAIMS: Meaning(
        401,
        Close.FORBIDDEN,
        "A claim of the proof is missing, has the wrong type, or is out of bounds; the message names it.",
    ),
    Code.PROOF_SIGNATURE: Meaning(
        401,
        Close.FORBIDDEN,
        "The signature does not verify with the key in the header; a signature must be the raw 64 bytes r‖s.",
    ),
    Code.PROOF_KEY_MISMATCH: Meaning(
        401, Close.FORBIDDEN, "The proof is signed with another key than the key to which the token is bound."
    ),
    Code.PROOF_NONCE: Meaning(
        401,
        Close.NONCE,
        "The nonce belongs to another connection or was already used; connect again and sign the new nonce.",
        retryable=True,
    ),
    Code.PROOF_HTM: Meaning(401, Close.FORBIDDEN, "`htm` is not `GET`."),
    Code.PROOF_HTU: Meaning(401, Close.FORBIDDEN, "`htu` is not the socket's own address."),
    Code.PROOF_ATH: Meaning(401, Close.FORBIDDEN, "`ath` is not the hash of the token in the same frame."),
    Code.PROOF_CALL: Meaning(401, Close.FORBIDDEN, "The proof of a call's audio was made for another call."),
    Code.PROOF_FINGERPRINT: Meaning(
        401,
        Close.FORBIDDEN,
        (
            "A DTLS fingerprint was changed on the way, or is missing; something between the widget and the service "
            "interferes with calls. The call ends."
        ),
    ),
    Code.FRAME_TOO_LARGE: Meaning(
        413, Close.TOO_BIG, "The frame is larger than the limit. The socket is closed without an error frame."
    ),
    Code.FRAME_INVALID: Meaning(
        400,
        Close.BAD_FRAME,
        "The frame is not text, is not JSON, has an unknown type, or has invalid members; the message says which.",
    ),
    Code.FRAME_UNEXPECTED: Meaning(
        400, Close.BAD_FRAME, "The frame is not allowed in this state, for example a message before `connect`."
    ),
    Code.FRAME_TIMEOUT: Meaning(
        408,
        Close.AUTH_TIMEOUT,
        "A frame was started but not completed in time. The socket is closed without an error frame.",
        retryable=True,
    ),
    Code.AUTH_TIMEOUT: Meaning(
        408, Close.AUTH_TIMEOUT, "No `connect` frame arrived within the time that `hello` announced.", retryable=True
    ),
    Code.IDLE_TIMEOUT: Meaning(
        408,
        Close.AUTH_TIMEOUT,
        "No frame arrived for longer than the limit; send `ping` as often as `hello` says.",
        retryable=True,
    ),
    Code.TOO_MANY_SOCKETS: Meaning(
        429,
        Close.RATE_LIMITED,
        "The identity or the client address has reached its limit of open sockets; close a socket.",
        retryable=True,
    ),
    Code.IDENTITY_CHANGED: Meaning(
        409,
        Close.IDENTITY_CHANGED,
        (
            "The `refresh` token is for another provider, login, uid or key; to change the identity, open a new "
            "connection."
        ),
    ),
    Code.CALL_UNKNOWN: Meaning(404, Close.BAD_FRAME, "There is no such call, or it has ended."),
    Code.CALL_TAKEN: Meaning(
        409, Close.BAD_FRAME, "Another agent has accepted the call, or the call is in another tab."
    ),
    Code.CALL_BUSY: Meaning(409, Close.BAD_FRAME, "The agent is in another call; end that call first."),
    Code.CALL_UNANSWERED: Meaning(
        408, Close.BAD_FRAME, "No agent accepted the call in time; call again later.", retryable=True
    ),
    Code.CALL_LOST: Meaning(
        408, Close.BAD_FRAME, "One side of the call was away for more than 20 seconds; call again.", retryable=True
    ),
    Code.RESTARTING: Meaning(
        503, Close.RESTART, "The server is shutting down; connect again in a moment.", retryable=True
    ),
    Code.SIGN_IN_REQUIRED: Meaning(401, Close.TOKEN, "The agent panel requires a signed-in agent."),
    Code.STATE_INVALID: Meaning(
        400,
        Close.FORBIDDEN,
        "The state of the sign-in was not made by this service, was altered, or belongs to another social provider.",
    ),
    Code.STATE_EXPIRED: Meaning(400, Close.FORBIDDEN, "The sign-in took longer than 10 minutes."),
    Code.STATE_USED: Meaning(400, Close.FORBIDDEN, "This sign-in was already completed."),
    Code.OAUTH_DENIED: Meaning(400, Close.FORBIDDEN, "The person or the social provider declined the sign-in."),
    Code.OAUTH_FAILED: Meaning(
        502,
        Close.TRY_LATER,
        "The social provider's response was unusable or missing; the message says at which step.",
        retryable=True,
    ),
}


class Refused(Exception):
    """The server refuses a request or a frame, with a stable code and a message for the person who reads it.

    `message` says what happened, which member is wrong, and what to do. It never contains a secret or a token. `cause`,
    if set, is the likely mistake, such as "exp looks like milliseconds". The log contains the cause, and the widget
    shows the cause in its advice.
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
        return MEANINGS[self.code]


class UnderWay(Refused):
    """A callback was requested twice. The first request gets the token, so the opener must not hear of a failure."""

    def __init__(self) -> None:
        what = "Your browser has asked for this page twice. If the chat does not sign you in, start again there."
        super().__init__(Code.STATE_USED, what, member="state", cause="the same code came again")


class RateLimited(Refused):
    """A rate limit was exceeded. `retry_after` is in whole seconds, for the `Retry-After` header (RFC 9110 10.2.3)."""

    def __init__(self, retry_after: int, what: str = "Too many requests from this address") -> None:
        super().__init__(Code.RATE_LIMITED, f"{what}; try again in {retry_after} s.")
        self.retry_after = retry_after
