"""Builds the URL of a social provider's consent page, to which the start endpoint redirects (contract 4.4)."""

import hashlib
from urllib.parse import quote, urlencode

from chatkey_server.identity import encoding
from chatkey_server.social.provider import SocialProvider


def url(
    social: SocialProvider,
    *,
    client_id: str,
    redirect_uri: str,
    state: str,
    verifier: str,
    oidc_nonce: str,
    choose_account: bool = False,
) -> str:
    """Return the URL of the authorization request (RFC 6749 4.1.1), usually with an S256 challenge (RFC 7636 4.3).

    With `choose_account`, the provider asks for the account, even if it knows the person.
    """
    query = {
        "response_type": "code",
        social.client_id_parameter: client_id,
        "redirect_uri": redirect_uri,
        "scope": social.scope,
        "state": state,
        **social.authorize_extras,
        **(social.choose_account if choose_account else {}),
    }
    if social.pkce:
        query |= {"code_challenge": challenge(verifier), "code_challenge_method": "S256"}
    if social.keys_url:
        query["nonce"] = oidc_nonce
    return f"{social.for_browser(social.authorize_url)}?{urlencode(query, quote_via=quote)}"


def challenge(verifier: str) -> str:
    """Return the S256 code challenge of a PKCE verifier (RFC 7636 4.2)."""
    return encoding.encode(hashlib.sha256(verifier.encode("ascii")).digest())
