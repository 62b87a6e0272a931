"""All refusals. The engine gives the reason, and the provider chooses the wording."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class Reason(StrEnum):
    """The reasons for which the token endpoint refuses a request."""

    CLIENT_MISSING = "client_missing"
    CLIENT_UNKNOWN = "client_unknown"
    CLIENT_SECRET = "client_secret"  # noqa: S105 - a reason, not a secret
    CONTENT_TYPE = "content_type"
    PARAMETER_MISSING = "parameter_missing"
    GRANT_TYPE = "grant_type"
    CODE_MALFORMED = "code_malformed"
    CODE_UNKNOWN = "code_unknown"
    CODE_OF_OTHER_CLIENT = "code_of_other_client"
    CODE_USED = "code_used"
    CODE_EXPIRED = "code_expired"
    REDIRECT_URI = "redirect_uri"
    VERIFIER_MISSING = "verifier_missing"
    VERIFIER_WRONG = "verifier_wrong"
    REFRESH_TOKEN = "refresh_token"  # noqa: S105 - see above
    EMAIL_UNVERIFIED = "email_unverified"
    SECRET_MISSING = "secret_missing"  # noqa: S105 - see above
    PUBLIC_CLIENT = "public_client"
    SCOPE = "scope"
    SCOPES = "scopes"
    SCOPE_NOT_GRANTED = "scope_not_granted"
    CONSENT = "consent"


CLIENT_REASONS: Final = (
    Reason.CLIENT_MISSING,
    Reason.CLIENT_UNKNOWN,
    Reason.SECRET_MISSING,
    Reason.CLIENT_SECRET,
)
CODE_REASONS: Final = (
    Reason.CODE_MALFORMED,
    Reason.CODE_UNKNOWN,
    Reason.CODE_OF_OTHER_CLIENT,
    Reason.CODE_USED,
    Reason.CODE_EXPIRED,
)
VERIFIER_REASONS: Final = (Reason.VERIFIER_MISSING, Reason.VERIFIER_WRONG)


class Words(NamedTuple):
    """A provider's wording of a refusal: status, `error`, and `error_description`, which may contain `{member}`."""

    status: int
    error: str
    description: str | None = None

    def naming(self, member: str) -> Words:
        """Return the same wording with `{member}` replaced by this name."""
        return self._replace(description=(self.description or "").replace("{member}", member))


class Problem(StrEnum):
    """The reasons for which an endpoint refuses an access token."""

    MISSING = "missing"
    UNKNOWN = "unknown"
    EXPIRED = "expired"
    REVOKED = "revoked"
    SCOPE = "scope"
    NOBODY = "nobody"


class Refusal(Exception):
    """Raised when an endpoint refuses a request. The provider turns it into a response.

    `advice` tells the application's developer more than the provider's message does.
    """

    advice = ""


class TokenRefused(Refusal):
    """The token endpoint refuses. `member` is the invalid parameter, if there is one.

    `detail` appears only in the timeline. It says more than clients are told, and never contains a secret.
    """

    def __init__(self, reason: Reason, member: str = "", detail: str = "") -> None:
        super().__init__(f"{reason}: {member}" if member else str(reason))
        self.reason = reason
        self.member = member
        self.detail = detail


class BearerRefused(Refusal):
    """The endpoint does not accept the access token. `scope` is the scope that the token lacks."""

    def __init__(self, problem: Problem, scope: str = "") -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.scope = scope


class ShownToPerson(Refusal):
    """An invalid authorization request that the provider reports on a page, never by redirect (RFC 6749 4.1.2.1)."""

    def __init__(self, status: int, error: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message


class SentBack(Refusal):
    """An invalid authorization request that the provider reports to the client with a redirect."""

    def __init__(self, redirect_uri: str, params: dict[str, str], mode: str = "query") -> None:
        super().__init__(params.get("error", ""))
        self.mode = mode
        self.redirect_uri = redirect_uri
        self.params = params
