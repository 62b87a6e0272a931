"""Tests of Authlib at a further issuer of `oidc`: ES256, a JWT as access token, and logout."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import httpx
from authlib.deprecate import AuthlibDeprecationWarning  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.jwk import KeySet

from chatkey_stack.patience import PATIENCE

# The import above enabled Authlib's warnings globally. This one recommends httpx2, but httpx is pinned.
warnings.filterwarnings("ignore", "The httpx module is deprecated", AuthlibDeprecationWarning)

from authlib.integrations.httpx_client import OAuth2Client  # type: ignore[import-untyped]  # noqa: E402
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]  # noqa: E402

if TYPE_CHECKING:
    from tests.oauth.clients.browser import Browser

HOME = "http://127.0.0.1:4999/goodbye"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CLIENT = {
    "provider": "oidc",
    "client_id": "authlib",
    "client_secret": "only-for-tests",
    "id_token_signed_response_alg": "ES256",
    "access_tokens": "jwt",
    "audience": "https://api.example",
    "post_logout_redirect_uris": [HOME],
}


def test_a_session_at_a_further_issuer(address: str, lab: httpx.Client, browser: Browser, callback: str) -> None:
    lab.post("/clients", json=CLIENT | {"redirect_uris": [callback]}).raise_for_status()
    issuer = f"{address}/oidc/acme"
    metadata = httpx.get(f"{issuer}/.well-known/openid-configuration", trust_env=False, timeout=PATIENCE).json()
    options: dict[str, Any] = {"code_challenge_method": "S256", "redirect_uri": callback, "trust_env": False}
    client: Any = OAuth2Client("authlib", "only-for-tests", scope="openid email", timeout=PATIENCE, **options)
    url, state = client.create_authorization_url(
        metadata["authorization_endpoint"], nonce="n-1", code_verifier=VERIFIER, max_age=60
    )

    returned = browser.approve(url)
    token = client.fetch_token(
        metadata["token_endpoint"], code=returned.params["code"], state=state, code_verifier=VERIFIER
    )
    keys = KeySet.import_key_set(client.get(metadata["jwks_uri"]).json())
    decoded = jwt.decode(token["id_token"], keys, algorithms=["ES256"])
    access = jwt.decode(token["access_token"], keys, algorithms=["RS256"])
    profile = client.get(metadata["userinfo_endpoint"]).json()
    client.close()
    silent = browser.open(f"{url}&prompt=none").params
    leave = {"id_token_hint": token["id_token"], "post_logout_redirect_uri": HOME, "state": "bye"}
    left = browser.open(f"{metadata['end_session_endpoint']}?{urlencode(leave)}")
    after = browser.open(f"{url}&prompt=none").params

    claims = CodeIDToken(decoded.claims, decoded.header, params={"nonce": "n-1", "client_id": "authlib", "max_age": 60})
    claims.validate()
    assert claims["iss"] == issuer == metadata["issuer"]
    assert (access.header["typ"], access.claims["aud"]) == ("at+jwt", "https://api.example")
    assert profile["email"] == "rhea@example.com"
    assert "code" in silent
    assert left.address == f"{HOME}?state=bye"
    assert after["error"] == "login_required"
