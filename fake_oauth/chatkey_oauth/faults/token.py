"""Faults of the token endpoint: refusals of valid requests, and incomplete responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.refusals import Reason, TokenRefused
from chatkey_oauth.faults.fault import Fault

if TYPE_CHECKING:
    from chatkey_oauth.faults.moment import Moment

Why = Annotated[Reason, msgspec.Meta(description="The reason, such as code_expired or verifier_wrong.")]
Type = Annotated[str, msgspec.Meta(max_length=100, description="The value of `token_type`.")]
ExpiresIn = Annotated[int | str | None, msgspec.Meta(description="The value of `expires_in`; null removes it.")]
Member = Annotated[str, msgspec.Meta(min_length=1, max_length=100, description="Which member is null.")]


class TokenFault(Fault):
    legs = (Leg.TOKEN,)


class CodeUsed(TokenFault):
    """The code is refused as already used."""

    name = "code-used"
    on_menu = True

    def instead(self, at: Moment) -> TokenRefused:
        return TokenRefused(Reason.CODE_USED, "code")


class CodeExpired(TokenFault):
    """The code is refused as expired."""

    name = "code-expired"
    on_menu = True

    def instead(self, at: Moment) -> TokenRefused:
        return TokenRefused(Reason.CODE_EXPIRED, "code")


class ClientRefused(TokenFault):
    """The client's secret is refused as wrong, as if it had been rotated without notice."""

    name = "client-refused"
    on_menu = True

    def instead(self, at: Moment) -> TokenRefused:
        return TokenRefused(Reason.CLIENT_SECRET, "client_secret")


class TokenRequestRefused(TokenFault):
    """The token endpoint refuses a valid request in this provider's words for `why`. The code stays valid."""

    name = "token-refused"
    why: Why = Reason.CODE_UNKNOWN

    def instead(self, at: Moment) -> TokenRefused:
        return TokenRefused(self.why, "code")


class NoAccessToken(TokenFault):
    """The token response has no access token."""

    name = "no-access-token"

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        return without(body, "access_token")


class NoIdToken(TokenFault):
    """The token response lacks the id_token."""

    name = "no-id-token"
    on_menu = True

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        return without(body, "id_token")


class NoRefreshToken(TokenFault):
    """The token response lacks the refresh token."""

    name = "no-refresh-token"

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        return without(body, "refresh_token")


class NullMember(TokenFault):
    """One member of the token response is null."""

    name = "null-member"
    member: Member = "access_token"

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        return body | {self.member: None} if self.member in body else None


class OtherTokenType(TokenFault):
    """The access token's type is not bearer (RFC 6749 7.1)."""

    name = "token-type"
    type: Type = "mac"

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any]:
        return body | {"token_type": self.type}


class OddExpiresIn(TokenFault):
    """The access token's lifetime is unusable: negative, a string, or missing."""

    name = "expires-in"
    expires_in: ExpiresIn = -1

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        """Set `expires_in` to the given value. If the value is None, remove the member."""
        return without(body, "expires_in") if self.expires_in is None else body | {"expires_in": self.expires_in}


class MalformedIdToken(TokenFault):
    """The id_token is not a JWT."""

    name = "malformed-id-token"

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        """Replace the id_token, if there is one, with three parts that are not JSON."""
        return body | {"id_token": "not.a.token"} if "id_token" in body else None


def without(body: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return the body without a member, or None if the body does not have this member."""
    return {key: value for key, value in body.items() if key != name} if name in body else None
