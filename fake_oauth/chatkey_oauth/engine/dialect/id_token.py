"""The id_token (OpenID Connect Core 2): when the provider issues it, and its claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from chatkey_oauth.engine.dialect.common import Common

if TYPE_CHECKING:
    from collections.abc import Collection

    from chatkey_oauth.engine.grants import Issued
    from chatkey_oauth.engine.requests import AuthorizationRequest
    from chatkey_oauth.engine.signing import KeyRing


class IdTokenDialect(Common):
    """When the provider issues an id_token, and the header and claims of the id_token."""

    id_token_typ: ClassVar[str | None] = "JWT"  # noqa: S105 - a type, not a secret
    """The header `typ`. If this is None, the header has no `typ`."""

    hashes_access_token: ClassVar[bool] = True
    """Whether an id_token from the token endpoint contains `at_hash`."""

    def keys_for(self, client_id: str) -> KeyRing:
        """Return the keys that sign the id_tokens of a client."""
        del client_id
        return self.keys

    def repeats_nonce(self) -> bool:
        """Return whether an id_token contains the `nonce` of the request."""
        return True

    def signs(self, scopes: Collection[str]) -> bool:
        """Return whether a login with these scopes yields an id_token."""
        return "openid" in scopes

    def brings_id_token(self, issued: Issued) -> bool:
        """Return whether this token response includes an id_token."""
        return not issued.grant.for_itself and self.signs(issued.grant.scopes)

    def is_hybrid(self, request: AuthorizationRequest) -> bool:
        """Return whether the callback contains an id_token in addition to the code (OpenID Connect Core 3.3)."""
        del request
        return False

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """Return the claims except `iss`, `at_hash` and `nonce`."""
        raise NotImplementedError
