"""The id_token (OpenID Connect Core 2): when there is one, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from chatkey_oauth.engine.dialect.common import Common

if TYPE_CHECKING:
    from collections.abc import Collection

    from chatkey_oauth.engine.grants import Issued
    from chatkey_oauth.engine.requests import AuthorizationRequest


class IdTokenDialect(Common):
    """Who gets an id_token, and with which claims."""

    id_token_typ: ClassVar[str | None] = "JWT"  # noqa: S105 - a type, not a secret
    """The header `typ`; None: there is none."""

    hashes_access_token: ClassVar[bool] = True
    """Whether an id_token of the token endpoint has `at_hash`."""

    def repeats_nonce(self) -> bool:
        """Whether an id_token has the `nonce` of the request."""
        return True

    def signs(self, scopes: Collection[str]) -> bool:
        """Whether a login with these scopes brings an id_token."""
        return "openid" in scopes

    def brings_id_token(self, issued: Issued) -> bool:
        """Whether this very answer of the token endpoint brings one."""
        return not issued.grant.for_itself and self.signs(issued.grant.scopes)

    def is_hybrid(self, request: AuthorizationRequest) -> bool:
        """Whether an id_token comes back beside the code (OpenID Connect Core 3.3)."""
        del request
        return False

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """The claims beside `iss`, `at_hash` and `nonce`."""
        raise NotImplementedError
