"""All refusals of the server: one exception, and one table with the meaning of each code."""

from dataclasses import dataclass
from typing import Final

from chatkey_protocol.codes import Close, Code


@dataclass(frozen=True, slots=True)
class Meaning:
    """The HTTP status and close code of a code, its meaning, and whether the same attempt may succeed later."""

    status: int
    close: Close
    help: str
    retryable: bool = False


MEANINGS: Final[dict[Code, Meaning]] = {
    Code.PARAMETER_MISSING: Meaning(
        400, Close.BAD_FRAME, "A required query or form parameter is absent; the message names it."
    ),
    Code.PARAMETER_INVALID: Meaning(
        400, Close.BAD_FRAME, "A parameter does not have the form it must have; the message names it and the form."
    ),
    Code.PARAMETER_REPEATED: Meaning(400, Close.BAD_FRAME, "A parameter was given twice; send it once."),
    Code.NOT_FOUND: Meaning(
        404, Close.BAD_FRAME, "There is nothing at this address; addresses are exact, without a trailing slash."
    ),
    Code.METHOD_NOT_ALLOWED: Meaning(
        405, Close.BAD_FRAME, "The address does not take this method; `Allow` lists those it takes."
    ),
    Code.MEDIA_TYPE_UNSUPPORTED: Meaning(
        415, Close.BAD_FRAME, "The body has a content type that is not read here; the message says which is."
    ),
    Code.TOO_LARGE: Meaning(413, Close.TOO_BIG, "The request is larger than the documented limit."),
    Code.RATE_LIMITED: Meaning(
        429, Close.RATE_LIMITED, "Too much in too short a time; wait as long as `Retry-After` says.", retryable=True
    ),
    Code.UNAVAILABLE: Meaning(
        503, Close.TRY_LATER, "The database cannot be reached just now; try again, nothing was changed.", retryable=True
    ),
    Code.INTERNAL: Meaning(500, Close.TRY_LATER, "A mistake in the server; its log has the details.", retryable=True),
    Code.PROVIDER_UNKNOWN: Meaning(
        404, Close.FORBIDDEN, "No provider has this id; check `providerId` for the right environment."
    ),
    Code.PROVIDER_OFF: Meaning(403, Close.FORBIDDEN, "The provider is switched off."),
    Code.SOCIAL_UNKNOWN: Meaning(404, Close.FORBIDDEN, "There is no social provider of this name."),
    Code.SOCIAL_DISABLED: Meaning(
        404, Close.FORBIDDEN, "The social provider is not enabled for this business, or its keys are missing."
    ),
    Code.INSECURE_ORIGIN: Meaning(
        403, Close.FORBIDDEN, "The page came by plain http; serve it over https, or from localhost."
    ),
    Code.ORIGIN_NOT_ALLOWED: Meaning(
        403,
        Close.FORBIDDEN,
        "The page's origin is not a registered domain of this provider; register it exactly as the browser writes it.",
    ),
    Code.TOKEN_MALFORMED: Meaning(
        401, Close.TOKEN, "Not three base64url segments, or their JSON is not strict; pass the token on unchanged."
    ),
    Code.TOKEN_TOO_LARGE: Meaning(401, Close.TOKEN, "The token is above 8 KB; keep profile data out of it."),
    Code.TOKEN_HEADER: Meaning(
        401, Close.TOKEN, "The header holds something that is not accepted, such as `crit` or a foreign `typ`."
    ),
    Code.TOKEN_ALG: Meaning(401, Close.TOKEN, "The token is not signed with HS256."),
    Code.TOKEN_SIGNATURE: Meaning(
        401,
        Close.TOKEN,
        "The MAC does not verify with the provider's `secret_key`; the log names the usual mistake if it fits one.",
    ),
    Code.TOKEN_CLAIMS: Meaning(
        401, Close.TOKEN, "A claim is missing, of the wrong type or out of bounds; the message names it."
    ),
    Code.TOKEN_TYPE: Meaning(401, Close.TOKEN, "A token of another kind; `type` must be the one that belongs here."),
    Code.TOKEN_PROVIDER: Meaning(401, Close.TOKEN, "`pid` is not this provider."),
    Code.TOKEN_EXPIRED: Meaning(401, Close.TOKEN_EXPIRED, "`exp` has passed; get a new token."),
    Code.TOKEN_NOT_YET_VALID: Meaning(
        401, Close.TOKEN, "`iat` or `nbf` lies more than 60 seconds ahead; set the clock that made the token."
    ),
    Code.TOKEN_KEY_MISMATCH: Meaning(401, Close.FORBIDDEN, "The identity token is bound to another key than `jkt`."),
    Code.TOKEN_REVOKED: Meaning(
        401, Close.FORBIDDEN, "The login this token comes from was switched off, or the person's data was erased."
    ),
    Code.PROOF_BINDING_MISSING: Meaning(
        401, Close.FORBIDDEN, "A member token without a usable `cnf.jkt`; put the `jkt` that getToken received there."
    ),
    Code.PROOF_MALFORMED: Meaning(401, Close.FORBIDDEN, "The proof is not a compact JWS with strict JSON."),
    Code.PROOF_TYP: Meaning(401, Close.FORBIDDEN, "`typ` of the proof is not `wf-proof+jwt`."),
    Code.PROOF_ALG: Meaning(401, Close.FORBIDDEN, "`alg` of the proof is not `ES256`."),
    Code.PROOF_JWK: Meaning(401, Close.FORBIDDEN, "`jwk` is not one public P-256 key in its only accepted spelling."),
    Code.PROOF_CLAIMS: Meaning(
        401,
        Close.FORBIDDEN,
        "A claim of the proof is missing, of the wrong type or out of bounds; the message names it.",
    ),
    Code.PROOF_SIGNATURE: Meaning(
        401, Close.FORBIDDEN, "The signature does not verify with the key in the header; raw r‖s of 64 bytes is wanted."
    ),
    Code.PROOF_KEY_MISMATCH: Meaning(
        401, Close.FORBIDDEN, "The proof is signed with another key than the one the token is bound to."
    ),
    Code.PROOF_NONCE: Meaning(
        401,
        Close.NONCE,
        "The nonce is not the unused one of this connection; connect again and sign the new one.",
        retryable=True,
    ),
    Code.PROOF_HTM: Meaning(401, Close.FORBIDDEN, "`htm` is not `GET`."),
    Code.PROOF_HTU: Meaning(401, Close.FORBIDDEN, "`htu` is not the socket's own address."),
    Code.PROOF_ATH: Meaning(401, Close.FORBIDDEN, "`ath` is not the hash of the token in the same frame."),
    Code.FRAME_TOO_LARGE: Meaning(413, Close.TOO_BIG, "A frame above the size limit; told by the close alone."),
    Code.FRAME_INVALID: Meaning(
        400,
        Close.BAD_FRAME,
        "A frame that is not text, not JSON, of no known kind, or with wrong members; the message says which.",
    ),
    Code.FRAME_UNEXPECTED: Meaning(
        400, Close.BAD_FRAME, "A frame that has no place here, such as a message before `connect`."
    ),
    Code.FRAME_TIMEOUT: Meaning(
        408,
        Close.AUTH_TIMEOUT,
        "A frame that had begun did not come to its end in time; told by the close alone.",
        retryable=True,
    ),
    Code.AUTH_TIMEOUT: Meaning(
        408, Close.AUTH_TIMEOUT, "No `connect` came within the time that `hello` named.", retryable=True
    ),
    Code.IDLE_TIMEOUT: Meaning(
        408, Close.AUTH_TIMEOUT, "No frame came for longer than the limit; `ping` as `hello` says.", retryable=True
    ),
    Code.TOO_MANY_SOCKETS: Meaning(
        429,
        Close.RATE_LIMITED,
        "The identity, or the client address, has as many sockets open as it may have; close one.",
        retryable=True,
    ),
    Code.IDENTITY_CHANGED: Meaning(
        409,
        Close.IDENTITY_CHANGED,
        "A `refresh` for another provider, login, uid or key; a change of identity is a new connection.",
    ),
    Code.CALL_UNKNOWN: Meaning(404, Close.BAD_FRAME, "There is no such call, or it has ended."),
    Code.RESTARTING: Meaning(
        503, Close.RESTART, "The server is going down; connect again after a moment.", retryable=True
    ),
    Code.SIGN_IN_REQUIRED: Meaning(401, Close.TOKEN, "The agent panel needs somebody to be signed in."),
    Code.STATE_INVALID: Meaning(
        400,
        Close.FORBIDDEN,
        "The state of the sign-in was not made by this service, was altered, or belongs to another social provider.",
    ),
    Code.STATE_EXPIRED: Meaning(400, Close.FORBIDDEN, "The sign-in took longer than 10 minutes."),
    Code.STATE_USED: Meaning(400, Close.FORBIDDEN, "This sign-in has been completed once already."),
    Code.OAUTH_DENIED: Meaning(400, Close.FORBIDDEN, "The person, or the social provider, said no."),
    Code.OAUTH_FAILED: Meaning(
        502,
        Close.TRY_LATER,
        "The social provider did not answer as it should; the message says at which step.",
        retryable=True,
    ),
}


class Refused(Exception):
    """The server refuses a request or a frame, with a stable code and a message for the person who reads it.

    `message` says what happened, which member is wrong, and what to do. It never contains a secret or a token.
    `cause`, if set, is the likely mistake ("exp looks like milliseconds"), for the log and for the widget's
    remediation.
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
        """The status, close code and retryability of this refusal."""
        return MEANINGS[self.code]


class RateLimited(Refused):
    """A rate limit was exceeded. `retry_after` is in whole seconds, for the `Retry-After` header (RFC 9110 10.2.3)."""

    def __init__(self, retry_after: int, what: str = "Too many requests from this address") -> None:
        super().__init__(Code.RATE_LIMITED, f"{what}; try again in {retry_after} s.")
        self.retry_after = retry_after
