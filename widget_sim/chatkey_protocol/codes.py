"""The codes of the protocol: the close codes of the socket, and the error codes of refusals."""

from enum import IntEnum, StrEnum


class Close(IntEnum):
    """Close codes of the socket profile (D-10). The browser itself sets 1006, which does not concern the identity."""

    LOGOUT = 1000
    TOO_BIG = 1009
    RESTART = 1012
    TRY_LATER = 1013
    BAD_FRAME = 4400
    TOKEN = 4401
    FORBIDDEN = 4403
    AUTH_TIMEOUT = 4408
    IDENTITY_CHANGED = 4409
    TOKEN_EXPIRED = 4419
    RATE_LIMITED = 4429
    NONCE = 4440


class Code(StrEnum):
    """Every error code of the server: in HTTP responses, on the socket, and in the message to the opener.

    `chatkey_server.identity.errors` defines the HTTP status and the close code for each.
    """

    # requests
    PARAMETER_MISSING = "parameter_missing"
    PARAMETER_INVALID = "parameter_invalid"
    PARAMETER_REPEATED = "parameter_repeated"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    MEDIA_TYPE_UNSUPPORTED = "media_type_unsupported"
    TOO_LARGE = "too_large"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"
    # the provider or social provider in the request
    PROVIDER_UNKNOWN = "provider_unknown"
    PROVIDER_OFF = "provider_off"
    SOCIAL_UNKNOWN = "social_unknown"
    SOCIAL_DISABLED = "social_disabled"
    # the request's origin
    INSECURE_ORIGIN = "insecure_origin"
    ORIGIN_NOT_ALLOWED = "origin_not_allowed"
    # tokens
    TOKEN_MALFORMED = "token_malformed"
    TOKEN_TOO_LARGE = "token_too_large"
    TOKEN_HEADER = "token_header"
    TOKEN_ALG = "token_alg"
    TOKEN_SIGNATURE = "token_signature"
    TOKEN_CLAIMS = "token_claims"
    TOKEN_TYPE = "token_type"
    TOKEN_PROVIDER = "token_provider"
    TOKEN_EXPIRED = "token_expired"
    TOKEN_NOT_YET_VALID = "token_not_yet_valid"
    TOKEN_KEY_MISMATCH = "token_key_mismatch"
    TOKEN_REVOKED = "token_revoked"
    # proofs
    PROOF_BINDING_MISSING = "proof_binding_missing"
    PROOF_MALFORMED = "proof_malformed"
    PROOF_TYP = "proof_typ"
    PROOF_ALG = "proof_alg"
    PROOF_JWK = "proof_jwk"
    PROOF_CLAIMS = "proof_claims"
    PROOF_SIGNATURE = "proof_signature"
    PROOF_KEY_MISMATCH = "proof_key_mismatch"
    PROOF_NONCE = "proof_nonce"
    PROOF_HTM = "proof_htm"
    PROOF_HTU = "proof_htu"
    PROOF_ATH = "proof_ath"
    PROOF_CALL = "proof_call"
    PROOF_FINGERPRINT = "proof_fingerprint"
    # the socket
    FRAME_TOO_LARGE = "frame_too_large"
    FRAME_INVALID = "frame_invalid"
    FRAME_UNEXPECTED = "frame_unexpected"
    FRAME_TIMEOUT = "frame_timeout"
    AUTH_TIMEOUT = "auth_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    TOO_MANY_SOCKETS = "too_many_sockets"
    IDENTITY_CHANGED = "identity_changed"
    CALL_UNKNOWN = "call_unknown"
    CALL_TAKEN = "call_taken"
    CALL_BUSY = "call_busy"
    CALL_UNANSWERED = "call_unanswered"
    CALL_LOST = "call_lost"
    RESTARTING = "restarting"
    SIGN_IN_REQUIRED = "sign_in_required"
    # social login
    STATE_INVALID = "state_invalid"
    STATE_EXPIRED = "state_expired"
    STATE_USED = "state_used"
    OAUTH_DENIED = "oauth_denied"
    OAUTH_FAILED = "oauth_failed"
