"""LinkedIn: id_tokens have no nonce, PKCE verifiers are refused, and all problems with a code have the same message.

Sources:

- The flow: learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2.
- An example of userinfo: docs.pingidentity.com/integrations/linkedin/setup.
- The missing nonce: github.com/authlib/authlib/issues/763.
- The refused verifier: github.com/nextauthjs/next-auth/issues/8831.
- The message for codes: github.com/thephpleague/oauth2-linkedin/issues/27.
- The refusals of the API: learn.microsoft.com/linkedin/shared/api-guide/concepts/error-handling and
  github.com/decioferreira/omniauth-linkedin-oauth2/issues/81.
- OpenID Connect's scopes do not give access to the older profile API:
  github.com/linkedin-developers/linkedin-api-js-client/issues/35.
- The access token may be in the query as `oauth2_access_token`, and is refused if it is missing:
  passport-linkedin-oauth2, lib/oauth2.js.
- The message for an unknown scope: github.com/cuongdevjs/reactjs-social-login/issues/178 and
  github.com/decioferreira/omniauth-linkedin-oauth2/issues/45.
- Parameters in a Basic header are ignored, and reported as missing from the form:
  github.com/scribejava/scribejava/issues/822 and github.com/badgateway/oauth2-client/issues/141.
"""

from __future__ import annotations

from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Any, Final

from chatkey_oauth.engine.advice import advised, unknown_scope
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.dialect.common import letters
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import Answer, json_answer
from chatkey_oauth.engine.provider import Provider
from chatkey_oauth.engine.reading import fault
from chatkey_oauth.engine.refusals import (
    CLIENT_REASONS,
    CODE_REASONS,
    VERIFIER_REASONS,
    BearerRefused,
    Problem,
    Reason,
    TokenRefused,
    Words,
)
from chatkey_oauth.engine.routing import Route
from chatkey_oauth.engine.switches import Switch

if TYPE_CHECKING:
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest

BAD_CODE: Final = Words(
    400,
    "invalid_request",
    "Unable to retrieve access token: appid/redirect uri/code verifier does not match authorization code. "
    "Or authorization code expired. Or external member binding exists",
)
MISSING: Final = Words(400, "invalid_request", 'A required parameter "{member}" is missing')
API: Final = {
    Problem.MISSING: (401, 401, None, "Empty oauth2_access_token"),
    Problem.UNKNOWN: (401, 65600, "INVALID_ACCESS_TOKEN", "Invalid access token"),
    Problem.EXPIRED: (401, 65600, "EXPIRED_ACCESS_TOKEN", "The token used in the request has expired"),
    Problem.REVOKED: (
        *(401, 65601, "REVOKED_ACCESS_TOKEN"),
        "The token used in the request has been revoked by the user",
    ),
    Problem.SCOPE: (403, 100, "ACCESS_DENIED", "Not enough permissions to access: {resource}.GET.NO_VERSION"),
}
"""The refusals of the API: status, LinkedIn's error number, code, and message."""


class Imitated(Provider):
    """Imitates www.linkedin.com and api.linkedin.com."""

    name = "linkedin"
    hosts = ("www.linkedin.com", "api.linkedin.com")
    accent = ("#0a5fb4", "#2a70b8")
    ready_made = {"client_id": "77readymade000", "client_secret": "WPL_AP1.readymadefortests.only00=="}
    scopes = {
        "openid": "Your id at LinkedIn",
        "profile": "Your name and picture",
        "email": "Your e-mail address",
    }
    scope_separator = ","
    basic_auth = False
    refreshes = False
    code_life = 1800
    access_life = 5184000
    words = {
        **say(Words(401, "invalid_client", "Client authentication failed"), CLIENT_REASONS),
        **say(BAD_CODE, (*CODE_REASONS, *VERIFIER_REASONS, Reason.REDIRECT_URI, Reason.REFRESH_TOKEN)),
        **say(MISSING, (Reason.PARAMETER_MISSING, Reason.CLIENT_MISSING, Reason.SECRET_MISSING)),
        Reason.CONTENT_TYPE: MISSING.naming("grant_type"),
        Reason.GRANT_TYPE: Words(400, "unsupported_grant_type", "The grant type is not supported"),
    }
    switches = (
        Switch("nonce", False, "The id_token repeats the `nonce` of the request."),
        Switch("pkce", False, "The application is configured for PKCE. Otherwise a verifier is refused."),
    )

    @property
    def label(self) -> str:
        """The name that people see.

        The chat service does not offer LinkedIn, so its table does not contain this name.
        """
        return "LinkedIn"

    def routes(self) -> dict[str, Route]:
        """Return the endpoints named in discovery, and the older profile."""
        return {
            "GET /oauth/.well-known/openid-configuration": Route(Leg.DISCOVERY, self.discovery),
            "GET /oauth/v2/authorization": Route(Leg.AUTHORIZE, self.authorize),
            "POST /oauth/v2/accessToken": Route(Leg.TOKEN, self.token),
            "GET /oauth/openid/jwks": Route(Leg.KEYS, self.jwks),
            "GET /v2/userinfo": Route(Leg.PROFILE, self.userinfo),
            "GET /v2/me": Route(Leg.PROFILE, self.older_profile),
        }

    @property
    def issuer(self) -> str:
        """The issuer. The discovery document is below the path of the issuer."""
        return f"{self.addresses.issuer}/oauth"

    def discovery(self, call: Call) -> Answer:
        """The discovery document, which does not mention PKCE."""
        del call
        browser, server, _ = self.addresses
        return json_answer(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{browser}/oauth/v2/authorization",
                "token_endpoint": f"{server}/oauth/v2/accessToken",
                "userinfo_endpoint": f"{self.at_host('api.linkedin.com')}/v2/userinfo",
                "jwks_uri": f"{server}/oauth/openid/jwks",
                "response_types_supported": ["code"],
                "subject_types_supported": ["pairwise"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "scopes_supported": list(self.scopes),
                "claims_supported": [
                    *("iss", "aud", "iat", "exp", "sub", "name", "given_name", "family_name", "picture", "email"),
                    *("email_verified", "locale"),
                ],
            }
        )

    def check_request(self, request: AuthorizationRequest) -> None:
        """Refuse the first scope that LinkedIn does not know. The message is HTML."""
        strange = next((scope for scope in request.scopes if scope not in self.scopes), None)
        if strange is not None:
            words = escape(f'Scope "{strange}" is not authorized for your application')
            refusal = fault(self, request.query, request.redirect_uri, "unauthorized_scope_error", words)
            raise advised(refusal, unknown_scope(self.label, self.scopes, request.query["scope"]))

    def fault_params(self, error: str, description: str) -> dict[str, str]:
        """Return LinkedIn's wording for a malformed scope, and the engine's wording for other errors."""
        if error == "invalid_scope":
            error, description = "unauthorized_scope_error", "Scope is not authorized for your application"
        return super().fault_params(error, description)

    def denied_params(self) -> dict[str, str]:
        return self.fault_params("user_cancelled_authorize", "The user cancelled the authorization")

    # Tokens

    def token_params(self, call: Call) -> dict[str, str]:
        """Return the parameters of the token request.

        If the switch `pkce` is off, refuse a verifier as a wrong client secret.
        """
        params = super().token_params(call)
        if "code_verifier" in params and not self.on("pkce"):
            raise TokenRefused(Reason.CLIENT_SECRET, "code_verifier", "PKCE is not enabled for this application.")
        return params

    def ignores_challenge(self) -> bool:
        return not self.on("pkce")

    def repeats_nonce(self) -> bool:
        return self.on("nonce")

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """Return the claims of userinfo. The claims are valid for one hour."""
        return {
            **self.claims(issued.grant),
            "iss": self.issuer,
            "aud": issued.grant.client_id,
            "iat": issued.issued_at,
            "exp": issued.issued_at + 3600,
        }

    def claims(self, grant: Grant) -> dict[str, Any]:
        """Return the claims that the granted scopes allow. The locale is an object."""
        person = self.person(grant)
        claims: dict[str, Any] = {"sub": self.subject(person, grant.client_id)}
        if "profile" in grant.scopes:
            claims |= {
                "name": person.name,
                "given_name": person.given_name,
                "family_name": person.family_name,
                "picture": self.picture(person),
                "locale": {"country": "US", "language": "en"},
            }
        if "email" in grant.scopes and person.email:
            claims |= {"email": person.email, "email_verified": person.email_verified}
        return {name: value for name, value in claims.items() if value is not None}

    # Endpoints that need an access token

    def bearer_text(self, call: Call) -> str | None:
        """Return the access token, which may also be in the query parameter `oauth2_access_token`."""
        return super().bearer_text(call) or call.query.get("oauth2_access_token")

    def userinfo(self, call: Call) -> Answer:
        """The userinfo endpoint, which needs the scope `openid`."""
        return json_answer(self.claims(self.bearer(call, "openid").grant))

    def older_profile(self, call: Call) -> Answer:
        """Refuse every token. The scopes for this endpoint belong to a product that new applications cannot get."""
        self.bearer(call)
        return self.api_refusal(BearerRefused(Problem.SCOPE), "me")

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        return self.api_refusal(refusal, "userinfo")

    def api_refusal(self, refusal: BearerRefused, resource: str) -> Answer:
        """Refuse access to an API resource, with LinkedIn's error number."""
        status, number, code, message = API.get(refusal.problem, API[Problem.UNKNOWN])
        named = {"code": code} if code else {}
        return json_answer(
            {"status": status, "serviceErrorCode": number, **named, "message": message.replace("{resource}", resource)},
            status,
        )

    # Formats

    def new_code(self) -> str:
        return "AQ" + self.alphanumeric(150)

    def new_access_token(self) -> str:
        return "AQ" + self.alphanumeric(350)

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return ten letters and digits. Each application gets different ones."""
        return letters(sha256(f"linkedin {person.id} {client_id}".encode()).digest()[:10])
