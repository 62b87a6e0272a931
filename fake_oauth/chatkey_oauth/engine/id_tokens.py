"""Builds id_tokens (OpenID Connect Core 2) from a provider's claims about a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatkey_oauth.engine.signing import half_hash, seal

if TYPE_CHECKING:
    from chatkey_oauth.engine.dialect import Dialect
    from chatkey_oauth.engine.grants import Issued
    from chatkey_oauth.engine.hooks import Hooks


def sign(provider: Dialect, hooks: Hooks, issued: Issued, **bound: str) -> str:
    """Sign an id_token.

    The id_token contains the claims in `bound`. If `bound` is empty and the provider uses `at_hash`, the id_token
    contains `at_hash`. If the provider repeats nonces, the id_token contains the nonce of the request, except after a
    refresh (OpenID Connect Core 12.2).
    """
    if not bound and provider.hashes_access_token:
        bound = {"at_hash": half_hash(issued.access)}
    claims = {"iss": provider.addresses.issuer, **provider.id_claims(issued), **bound}
    if issued.grant.nonce is not None and not issued.refreshed and provider.repeats_nonce():
        claims["nonce"] = issued.grant.nonce
    return seal(hooks.id_token(provider.keys_for(issued.grant.client_id).draft(claims, typ=provider.id_token_typ)))
