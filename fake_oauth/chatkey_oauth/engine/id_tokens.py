"""Making id_tokens (OpenID Connect Core 2) out of what a provider says of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatkey_oauth.engine.signing import half_hash, seal

if TYPE_CHECKING:
    from chatkey_oauth.engine.dialect import Dialect
    from chatkey_oauth.engine.grants import Issued
    from chatkey_oauth.engine.hooks import Hooks


def sign(provider: Dialect, hooks: Hooks, issued: Issued, **bound: str) -> str:
    """Sign an id_token, bound to the access token by `at_hash`, or else `bound`.

    It has the nonce of the request, but after a refresh none (OpenID Connect Core 12.2).
    """
    bound = bound or {"at_hash": half_hash(issued.access)}
    claims = {"iss": provider.addresses.issuer, **provider.id_claims(issued), **bound}
    if issued.grant.nonce is not None and not issued.refreshed:
        claims["nonce"] = issued.grant.nonce
    return seal(hooks.id_token(provider.keys.draft(claims, typ=provider.id_token_typ)))
