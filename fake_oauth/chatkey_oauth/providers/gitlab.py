"""GitLab: error messages from Doorkeeper, rotating refresh tokens, and id_tokens that are valid for two minutes.

Sources. Doorkeeper is github.com/doorkeeper-gem/doorkeeper.

- The message for a missing parameter: Doorkeeper `lib/doorkeeper/oauth/authorization_code_request.rb`.
- The effect of a second use of a code, which has none before version 6: Doorkeeper `CHANGELOG.md`.
- People who have approved a confidential application are not asked again: gitlab.com/gitlab-org/gitlab
  `app/controllers/oauth/authorizations_controller.rb`.
- A refreshed id_token has no nonce: github.com/doorkeeper-gem/doorkeeper-openid_connect
  `lib/doorkeeper/openid_connect/oauth/token_response.rb`.
- A refresh can ask for fewer scopes, and the next refresh token has only those scopes: Doorkeeper
  `lib/doorkeeper/oauth/refresh_token_request.rb`.
- The response of version 3 of the API, which was removed: github.com/abrader/abrader-gms/issues/43.
- A token for the application itself has no resource owner and no refresh token: Doorkeeper
  `lib/doorkeeper/oauth/client_credentials/`, github.com/gitlabhq/gitlabhq
  `spec/requests/oauth/flows/client_credentials_spec.rb`.
- The older names in the token info, and the refusal of the token info: github.com/gitlabhq/gitlabhq
  `app/controllers/oauth/token_info_controller.rb` with its spec, and `doc/api/oauth2.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import NO_STORE, Answer, Headers, json_answer
from chatkey_oauth.engine.provider import Provider
from chatkey_oauth.engine.refusals import (
    CLIENT_REASONS,
    CODE_REASONS,
    BearerRefused,
    Problem,
    Reason,
    Refusal,
    ShownToPerson,
    TokenRefused,
    Words,
)
from chatkey_oauth.engine.routing import Route
from chatkey_oauth.engine.switches import Switch
from chatkey_oauth.engine.text import fingerprint
from chatkey_oauth.engine.token import client_of, own_token, required

if TYPE_CHECKING:
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest

BAD_CLIENT = (
    "Client authentication failed due to unknown client, no client authentication included, or unsupported "
    "authentication method."
)
BAD_GRANT = (
    "The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the "
    "authorization request, or was issued to another client."
)
DEFAULT_SCOPE = "read_user"
BAD_SCOPE = "The requested scope is invalid, unknown, or malformed."
USERINFO = "/oauth/userinfo"
TOKEN_INFO = "/oauth/token/info"  # noqa: S105 - a path, not a secret
ID_CLAIMS = ("sub", "sub_legacy", "email", "email_verified")
BAD_TOKEN = "The access token is invalid"  # noqa: S105 - words, not a secret
DOORKEEPER = {Problem.EXPIRED: "expired", Problem.REVOKED: "was revoked"}
"""The words for an expired or a revoked access token in a message. All other invalid tokens are "invalid"."""
GROUPS = "https://gitlab.org/claims/groups"


class Imitated(Provider):
    """Imitates gitlab.com or a self-managed instance."""

    name = "gitlab"
    hosts = ("gitlab.com",)
    accent = ("#b5400f", "#c24a17")
    ready_made = {
        "client_id": "c0ffee00" * 8,
        "client_secret": "gloas-" + "c0ffee00" * 8,
    }
    scopes = {
        "openid": "Your id at GitLab",
        "profile": "Your name, user name and picture",
        "email": "Your e-mail address",
        "read_user": "Your profile, including your e-mail address",
        "api": "Full access to the API",
        "read_api": "Read access to the API",
    }
    default_scope = DEFAULT_SCOPE
    strict_scopes = True
    challenge_methods = ("S256", "plain")
    response_modes = ("query", "fragment", "form_post")
    json_bodies = True
    knows_machines = True
    query_tokens = True
    numeric_subjects = True
    access_life = 7200
    words = {
        **say(Words(401, "invalid_client", BAD_CLIENT), (*CLIENT_REASONS, Reason.PUBLIC_CLIENT)),
        **say(Words(400, "invalid_scope", BAD_SCOPE), (Reason.SCOPE, Reason.SCOPE_NOT_GRANTED)),
        **say(Words(400, "invalid_grant", BAD_GRANT), CODE_REASONS),
        **say(
            Words(400, "invalid_grant", BAD_GRANT), (Reason.REDIRECT_URI, Reason.REFRESH_TOKEN, Reason.VERIFIER_WRONG)
        ),
        **say(
            Words(400, "invalid_request", "Missing required parameter: {member}."),
            (Reason.PARAMETER_MISSING, Reason.VERIFIER_MISSING, Reason.CONTENT_TYPE),
        ),
        Reason.GRANT_TYPE: Words(
            400,
            "unsupported_grant_type",
            "The authorization grant type is not supported by the authorization server.",
        ),
    }
    open_to_pages = frozenset({Leg.DISCOVERY, Leg.KEYS, Leg.TOKEN, Leg.PROFILE, Leg.REVOKE})
    switches = (
        Switch("prompt", True, "`prompt=none` is answered with an error if a page would be needed."),
        Switch(
            "remember-approval", True, "A person who has already approved the same scopes is sent back without a page."
        ),
        Switch(
            "reuse-revokes",
            False,
            "The second use of a code revokes the tokens from the first use, as in Doorkeeper 6 and later.",
        ),
        Switch("rate-headers", False, "Responses of the API have `RateLimit-*` headers."),
        Switch("blocked", False, "The person is blocked. The API reports this, but the login does not."),
    )

    def routes(self) -> dict[str, Route]:
        """Return Doorkeeper's endpoints, those of OpenID Connect, and the API's user."""
        return {
            "GET /.well-known/openid-configuration": Route(Leg.DISCOVERY, self.discovery),
            "GET /.well-known/oauth-authorization-server": Route(Leg.DISCOVERY, self.discovery),
            "GET /oauth/authorize": Route(Leg.AUTHORIZE, self.authorize),
            "POST /oauth/token": Route(Leg.TOKEN, self.token),
            "POST /oauth/revoke": Route(Leg.REVOKE, self.revoke),
            "POST /oauth/introspect": Route(Leg.PROFILE, self.introspect),
            "GET POST /oauth/userinfo": Route(Leg.PROFILE, self.userinfo),
            "GET /oauth/discovery/keys": Route(Leg.KEYS, self.jwks),
            "GET /oauth/token/info": Route(Leg.PROFILE, self.token_info),
            "GET /api/v4/user": Route(Leg.PROFILE, self.user),
            "GET /api/v3/user": Route(None, self.gone),
        }

    def discovery(self, call: Call) -> Answer:
        """The discovery document, which is also the metadata document (RFC 8414)."""
        browser, server, issuer = self.addresses
        return json_answer(
            {
                "issuer": issuer,
                "authorization_endpoint": f"{browser}/oauth/authorize",
                "token_endpoint": f"{server}/oauth/token",
                "revocation_endpoint": f"{server}/oauth/revoke",
                "introspection_endpoint": f"{server}/oauth/introspect",
                "userinfo_endpoint": f"{server}{USERINFO}",
                "jwks_uri": f"{server}/oauth/discovery/keys",
                "scopes_supported": list(self.scopes),
                "response_types_supported": ["code"],
                "response_modes_supported": list(self.response_modes),
                "grant_types_supported": [
                    *("authorization_code", "client_credentials", "device_code", "refresh_token"),
                ],
                "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "claim_types_supported": ["normal"],
                "claims_supported": [
                    *("iss", "sub", "aud", "exp", "iat", "sub_legacy", "name", "nickname", "preferred_username"),
                    *("given_name", "family_name", "email", "email_verified", "website", "profile", "picture"),
                    *("groups", "groups_direct", f"{GROUPS}/owner", f"{GROUPS}/maintainer", f"{GROUPS}/developer"),
                ],
                "code_challenge_methods_supported": ["plain", "S256"],
            }
        )

    def client_refused(self, client_id: str | None) -> Refusal:
        return ShownToPerson(401, "invalid_client", BAD_CLIENT)

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """If the switch `remember-approval` is on, show no page to people who have approved before.

        For a public application, people always see the page.
        """
        remembered = self.on("remember-approval") and not request.client.is_public and not self.asks_anew(request)
        return remembered or self.is_silent(request) or super().skips_consent(request)

    def is_silent(self, request: AuthorizationRequest) -> bool:
        """Return whether `prompt=none` forbids a page. If the switch `prompt` is off, return false."""
        return self.on("prompt") and request.query.get("prompt") == "none"

    def page_refused(self, request: AuthorizationRequest, *, signed_in: bool) -> str | None:
        """Return an error instead of a page if `prompt=none` forbids a page (OpenID Connect Core 3.1.2.6)."""
        if not self.is_silent(request):
            return None
        return "consent_required" if signed_in else "login_required"

    def denied_params(self) -> dict[str, str]:
        return self.fault_params("access_denied", "The resource owner or authorization server denied the request.")

    def takes_back(self) -> bool:
        """Return whether a second use of a code revokes the tokens from the first use.

        The switch `reuse-revokes` decides.
        """
        return self.on("reuse-revokes")

    def machine_scopes(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return the requested scopes, all of which must exist. If there are none, return the default scope."""
        if not self.scopes.keys() >= set(asked):
            raise TokenRefused(Reason.SCOPE, "scope")
        return asked or (DEFAULT_SCOPE,)

    def refreshed_scopes(self, grant: Grant, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return the requested scopes. The refresh token must have all of them.

        If an earlier refresh dropped a scope, the refresh token does not have this scope any more.
        """
        if not set(asked) <= set(grant.scopes):
            raise TokenRefused(Reason.SCOPE_NOT_GRANTED, "scope")
        return asked or grant.scopes

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        return super().token_body(issued, id_token) | {"created_at": issued.issued_at}

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """Return the error in the body and in `WWW-Authenticate`.

        A missing redirect URI is reported as a missing parameter.
        """
        if refusal.reason is Reason.REDIRECT_URI and not self.token_params(call).get("redirect_uri"):
            refusal = TokenRefused(Reason.PARAMETER_MISSING, refusal.member)
        words = self.words_for(refusal.reason)
        description = (words.description or "").replace("{member}", refusal.member)
        body = {"error": words.error, "error_description": description}
        header = ("www-authenticate", challenge(words.error, description))
        return json_answer(body, words.status, (header, *NO_STORE))

    def revoke(self, call: Call) -> Answer:
        """Revoke an access token and its refresh token. An unknown token counts as already revoked."""
        params = self.token_params(call)
        client = client_of(self, call, params)
        issued = self.grants.find(required(params, "token"))
        if issued is None:
            return json_answer({})
        if issued.grant.client_id != client.client_id:
            description = "You are not authorized to revoke this token"
            return json_answer({"error": "unauthorized_client", "error_description": description}, 403)
        issued.revoked = True
        return json_answer({})

    def introspect(self, call: Call) -> Answer:
        """The endpoint that tells a client whether one of its tokens is active (RFC 7662)."""
        issued = own_token(self, call)
        if issued is None or issued.is_revoked or self.ended(issued):
            return json_answer({"active": False})
        return json_answer(
            {
                "active": True,
                "scope": " ".join(issued.grant.scopes),
                "client_id": issued.grant.client_id,
                "token_type": "Bearer",
                "exp": issued.expires_at,
                "iat": issued.issued_at,
            }
        )

    def ended(self, issued: Issued) -> bool:
        return issued.expires_at is not None and issued.expires_at <= self.now

    def token_info(self, call: Call) -> Answer:
        """The endpoint that describes a token: person, scopes, lifetime. Two members are repeated under older names."""
        issued = self.any_bearer(call)
        scopes, left = list(issued.grant.scopes), (issued.expires_at or 0) - self.now
        return json_answer(
            {
                "resource_owner_id": None if issued.grant.for_itself else self.number_of(issued.grant),
                "scope": scopes,
                "expires_in": left,
                "application": {"uid": issued.grant.client_id},
                "created_at": issued.issued_at,
                "scopes": scopes,
                "expires_in_seconds": left,
            }
        )

    def number_of(self, grant: Grant) -> int:
        """Return the subject id of the grant's person as a number."""
        return int(self.subject(self.person(grant), grant.client_id))

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """Return claims that are valid for two minutes. The subject is the number as text."""
        claims = self.claims(issued.grant)
        kept = {name: value for name, value in claims.items() if name in ID_CLAIMS}
        return {
            "aud": issued.grant.client_id,
            **kept,
            "exp": issued.issued_at + 120,
            "iat": issued.issued_at,
            "auth_time": issued.grant.auth_time,
            "groups_direct": [],
        }

    def claims(self, grant: Grant) -> dict[str, Any]:
        person = self.person(grant)
        subject = self.subject(person, grant.client_id)
        claims: dict[str, Any] = {"sub": subject, "sub_legacy": fingerprint(f"legacy {subject}", 64)}
        if {"profile", "read_user"}.intersection(grant.scopes):
            claims |= {
                "name": person.name or person.login,
                "nickname": person.login,
                "preferred_username": person.login,
                "profile": f"{self.addresses.browser}/{person.login}",
                "picture": self.picture(person),
                "groups": [],
            }
        if "email" in grant.scopes and person.email:
            claims |= {"email": person.email, "email_verified": person.email_verified}
        return claims

    def userinfo(self, call: Call) -> Answer:
        """The userinfo endpoint, which needs the scope `openid`."""
        return json_answer(self.claims(self.bearer(call, "openid").grant))

    def refused(self, call: Call, refusal: Refusal) -> Answer:
        """Add Doorkeeper's header to the refusal of an invalid token. Endpoints of the API have no such header."""
        if call.path == TOKEN_INFO and isinstance(refusal, BearerRefused):
            body = {"error": "invalid_token", "error_description": BAD_TOKEN, "state": "unauthorized"}
            return json_answer(body, 401, (("www-authenticate", challenge("invalid_token", BAD_TOKEN)), *NO_STORE))
        answer = super().refused(call, refusal)
        if call.path != USERINFO or not isinstance(refusal, BearerRefused) or refusal.problem is Problem.SCOPE:
            return answer
        said = f"The access token {DOORKEEPER.get(refusal.problem, 'is invalid')}"
        header = ("www-authenticate", challenge("invalid_token", said))
        return msgspec.structs.replace(answer, headers=(*answer.headers, header))

    def gone(self, call: Call) -> Answer:
        """Answer clients that still use version 3 of the API. GitLab has removed this version."""
        del call
        return json_answer({"error": "API V3 is no longer supported. Use API V4 instead."}, 410)

    def user(self, call: Call) -> Answer:
        """The API's user endpoint. `id` is a number. If the address is not confirmed, `confirmed_at` is null."""
        grant = self.bearer(call, "api", "read_api", "read_user").grant
        person = self.person(grant)
        return json_answer(
            {
                "id": self.number_of(grant),
                "username": person.login,
                "public_email": "",
                "name": person.name or person.login,
                "state": "blocked" if self.on("blocked") else "active",
                "locked": False,
                "avatar_url": self.picture(person),
                "web_url": f"{self.addresses.browser}/{person.login}",
                "created_at": "2019-03-01T10:00:00.000Z",
                "bio": "",
                "location": "",
                "linkedin": "",
                "twitter": "",
                "website_url": "",
                "job_title": "",
                "confirmed_at": "2019-03-01T10:02:00.000Z" if person.email and person.email_verified else None,
                "last_sign_in_at": "2026-11-19T07:00:00.000Z",
                "two_factor_enabled": False,
                "external": False,
                "identities": [],
                "email": person.email,
                "commit_email": person.email,
            },
            headers=self.rate_headers(),
        )

    def rate_headers(self) -> Headers:
        """If the switch `rate-headers` is on, return headers with the remaining rate limit of the API."""
        if not self.on("rate-headers"):
            return ()
        return (
            ("ratelimit-limit", "2000"),
            ("ratelimit-observed", "1"),
            ("ratelimit-remaining", "1999"),
            ("ratelimit-reset", str(self.now + 60)),
        )

    def rate_limited(self, retry_after: int) -> Answer:
        """Return 429 as plain text, with GitLab's `RateLimit-*` headers."""
        headers = (
            ("content-type", "text/plain"),
            ("retry-after", str(retry_after)),
            ("ratelimit-limit", "600"),
            ("ratelimit-observed", "601"),
            ("ratelimit-remaining", "0"),
            ("ratelimit-reset", str(self.now + retry_after)),
        )
        return Answer(429, b"Retry later\n", headers)

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """Return a separate error for a missing scope, an expired token, a revoked token, or any other bad token."""
        match refusal.problem:
            case Problem.SCOPE:
                description = "The request requires higher privileges than provided by the access token."
                body = {"error": "insufficient_scope", "error_description": description, "scope": refusal.scope}
                return json_answer(body, 403)
            case Problem.EXPIRED:
                description = "Token is expired. You can either do re-authorization or token refresh."
                return json_answer({"error": "invalid_token", "error_description": description}, 401)
            case Problem.REVOKED:
                description = "Token was revoked. You have to re-authorize from the user."
                return json_answer({"error": "invalid_token", "error_description": description}, 401)
            case _:
                return json_answer({"message": "401 Unauthorized"}, 401)

    def new_code(self) -> str:
        """Return 64 hexadecimal digits, the format of all codes and tokens of GitLab."""
        return self.hexadecimal(64)

    new_access_token = new_code
    new_refresh_token = new_code

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return a number of 5 digits. It is the same for every client."""
        return self.number(person, 5)


def challenge(error: str, description: str) -> str:
    return f'Bearer realm="Doorkeeper", error="{error}", error_description="{description}"'
