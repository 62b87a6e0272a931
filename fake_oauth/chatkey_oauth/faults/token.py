"""Faults of the token endpoint: refusals without a reason, and answers that lack something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.refusals import Reason, TokenRefused
from chatkey_oauth.faults.fault import Fault

if TYPE_CHECKING:
    from chatkey_oauth.faults.moment import Moment

Why = Annotated[Reason, msgspec.Meta(description="Why, such as code_expired or verifier_wrong.")]
Type = Annotated[str, msgspec.Meta(max_length=100, description="The value of `token_type`.")]
ExpiresIn = Annotated[int | str | None, msgspec.Meta(description="The value of `expires_in`; null leaves it out.")]
Member = Annotated[str, msgspec.Meta(min_length=1, max_length=100, description="Which member.")]


class TokenFault(Fault):
    """What all faults of the token answer have in common."""

    legs = (Leg.TOKEN,)


class CodeUsed(TokenFault):
    """The code counts as used already."""

    name = "code-used"
    on_menu = True

    def instead(self, at: Moment) -> TokenRefused:
        """Refuse before the request is looked at, as for a used code."""
        return TokenRefused(Reason.CODE_USED, "code")


class CodeExpired(TokenFault):
    """The code counts as expired."""

    name = "code-expired"
    on_menu = True

    def instead(self, at: Moment) -> TokenRefused:
        """Refuse before the request is looked at, as for an expired code."""
        return TokenRefused(Reason.CODE_EXPIRED, "code")


class ClientRefused(TokenFault):
    """The client's secret counts as wrong, as after a rotation nobody told of."""

    name = "client-refused"
    on_menu = True

    def instead(self, at: Moment) -> TokenRefused:
        """Refuse before the request is looked at, as for a wrong secret."""
        return TokenRefused(Reason.CLIENT_SECRET, "client_secret")


class TokenRequestRefused(TokenFault):
    """The token endpoint refuses a good request, in the words this provider has for `why`; the code stays good."""

    name = "token-refused"
    why: Why = Reason.CODE_UNKNOWN

    def instead(self, at: Moment) -> TokenRefused:
        """Refuse before the request is looked at, for the reason given."""
        return TokenRefused(self.why, "code")


class NoAccessToken(TokenFault):
    """The token answer has no access token."""

    name = "no-access-token"

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        """Leave out `access_token`."""
        return without(body, "access_token")


class NoIdToken(TokenFault):
    """The token answer has no id_token, where one is due."""

    name = "no-id-token"
    on_menu = True

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        """Leave out `id_token`, where there is one."""
        return without(body, "id_token")


class NoRefreshToken(TokenFault):
    """The token answer has no refresh token, where one is due."""

    name = "no-refresh-token"

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        """Leave out `refresh_token`, where there is one."""
        return without(body, "refresh_token")


class NullMember(TokenFault):
    """One member of the token answer is null."""

    name = "null-member"
    member: Member = "access_token"

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        """Set the member to null, if there is one of that name."""
        return body | {self.member: None} if self.member in body else None


class OtherTokenType(TokenFault):
    """The access token is of another type than bearer (RFC 6749 7.1)."""

    name = "token-type"
    type: Type = "mac"

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any]:
        """Set `token_type` to another type."""
        return body | {"token_type": self.type}


class OddExpiresIn(TokenFault):
    """The access token's lifetime is none: negative, a text, or missing."""

    name = "expires-in"
    expires_in: ExpiresIn = -1

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        """Set `expires_in` to the value given, or leave it out."""
        return without(body, "expires_in") if self.expires_in is None else body | {"expires_in": self.expires_in}


class MalformedIdToken(TokenFault):
    """The id_token is no JWT."""

    name = "malformed-id-token"

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        """Replace the id_token, where there is one, by three parts that are no JSON."""
        return body | {"id_token": "not.a.token"} if "id_token" in body else None


def without(body: dict[str, Any], name: str) -> dict[str, Any] | None:
    """The members without one; None if it is not there."""
    return {key: value for key, value in body.items() if key != name} if name in body else None
