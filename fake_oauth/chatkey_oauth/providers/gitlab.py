"""GitLab: Doorkeeper's words, rotating refresh tokens, id_tokens that live two minutes.

The words for a missing parameter, and what a code does that comes twice (nothing before version 6):
github.com/doorkeeper-gem/doorkeeper `lib/doorkeeper/oauth/authorization_code_request.rb`, `CHANGELOG.md`.
Who approved before is asked no more where the application is confidential: gitlab.com/gitlab-org/gitlab
`app/controllers/oauth/authorizations_controller.rb`.
That a refreshed id_token has no nonce: github.com/doorkeeper-gem/doorkeeper-openid_connect
`lib/doorkeeper/openid_connect/oauth/token_response.rb`.
Fewer scopes for a refresh, which its next refresh token keeps: Doorkeeper's
`lib/doorkeeper/oauth/refresh_token_request.rb`.
What version 3 of the API says since it is gone: github.com/abrader/abrader-gms/issues/43.
An application's own token, of no resource owner and with no refresh token: Doorkeeper's
`lib/doorkeeper/oauth/client_credentials/`, github.com/gitlabhq/gitlabhq
`spec/requests/oauth/flows/client_credentials_spec.rb`. The older names in the token's info, and its refusal:
`app/controllers/oauth/token_info_controller.rb` there with its spec, and `doc/api/oauth2.md`.
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
"""What is wrong with an access token, where it is not simply invalid."""
GROUPS = "https://gitlab.org/claims/groups"


class Imitated(Provider):
    """gitlab.com, or an instance of one's own."""

    name = "gitlab"
    hosts = ("gitlab.com",)
    accent = ("#b5400f", "#c24a17")
    ready_made = {
        "client_id": "c0ffee00" * 8,
        "client_secret": "gloas-" + "c0ffee00" * 8,
    }
    scopes = {
        "openid": "Who you are at GitLab",
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
        Switch("prompt", True, "`prompt=none` is answered with an error where a page would be needed."),
        Switch("remember-approval", True, "Who approved as much before is sent back without a page."),
        Switch("reuse-revokes", False, "A code used twice takes back what it brought, as from Doorkeeper 6 on."),
        Switch("rate-headers", False, "Answers of the API carry `RateLimit-*` headers."),
        Switch("blocked", False, "Whoever signs in is blocked, which the API tells and the login does not."),
    )

    def routes(self) -> dict[str, Route]:
        """Doorkeeper's endpoints, OpenID Connect's, and the API's user."""
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
        """The discovery document, which serves as metadata (RFC 8414) too."""
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
                    *("authorization_code", "client_credentials"),
                    *("urn:ietf:params:oauth:grant-type:device_code", "refresh_token"),
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
        """Refuse with a page and status 401."""
        return ShownToPerson(401, "invalid_client", BAD_CLIENT)

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """Show no page to those who approved before, unless switched off; those of a public application are asked."""
        remembered = self.on("remember-approval") and not request.client.is_public and not self.asks_anew(request)
        return remembered or self.is_silent(request) or super().skips_consent(request)

    def is_silent(self, request: AuthorizationRequest) -> bool:
        """Whether `prompt=none` forbids a page, unless switched off."""
        return self.on("prompt") and request.query.get("prompt") == "none"

    def page_refused(self, request: AuthorizationRequest, *, signed_in: bool) -> str | None:
        """Refuse a page that `prompt=none` forbids (OpenID Connect Core 3.1.2.6)."""
        if not self.is_silent(request):
            return None
        return "consent_required" if signed_in else "login_required"

    def denied_params(self) -> dict[str, str]:
        """Tell of the refusal in Doorkeeper's words."""
        return self.fault_params("access_denied", "The resource owner or authorization server denied the request.")

    def takes_back(self) -> bool:
        """Take back what a code brought that comes twice, while that is switched on."""
        return self.on("reuse-revokes")

    def machine_scopes(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Those asked for, which must be known ones, or else the default."""
        if not self.scopes.keys() >= set(asked):
            raise TokenRefused(Reason.SCOPE, "scope")
        return asked or (DEFAULT_SCOPE,)

    def refreshed_scopes(self, grant: Grant, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Those asked for, of those that the refresh token has: what was narrowed stays so."""
        if not set(asked) <= set(grant.scopes):
            raise TokenRefused(Reason.SCOPE_NOT_GRANTED, "scope")
        return asked or grant.scopes

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        """Add the time of issue."""
        return super().token_body(issued, id_token) | {"created_at": issued.issued_at}

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """Put what the body says into `WWW-Authenticate` as well. A redirect URI that is not there is a missing one."""
        if refusal.reason is Reason.REDIRECT_URI and not self.token_params(call).get("redirect_uri"):
            refusal = TokenRefused(Reason.PARAMETER_MISSING, refusal.member)
        words = self.words_for(refusal.reason)
        description = (words.description or "").replace("{member}", refusal.member)
        body = {"error": words.error, "error_description": description}
        header = ("www-authenticate", challenge(words.error, description))
        return json_answer(body, words.status, (header, *NO_STORE))

    def revoke(self, call: Call) -> Answer:
        """Take one pair of tokens back; an unknown one is as good as taken back."""
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
        """Tell a client whether its token is active (RFC 7662)."""
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
        """Tell whether a token's time is over."""
        return issued.expires_at is not None and issued.expires_at <= self.now

    def token_info(self, call: Call) -> Answer:
        """The endpoint that tells whose a token is, for what, and how long; an older name stands beside two members."""
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
        """The subject id of a grant's person as a number."""
        return int(self.subject(self.person(grant), grant.client_id))

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """The claims of two minutes' life; the subject is the number as text."""
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
        """The claims that the granted scopes open."""
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
        """The claims, for tokens with the scope `openid`."""
        return json_answer(self.claims(self.bearer(call, "openid").grant))

    def refused(self, call: Call, refusal: Refusal) -> Answer:
        """With Doorkeeper's header for a bad token at the endpoints that are not of the API."""
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
        """What the API says whose version is no more, to clients that still ask for it."""
        del call
        return json_answer({"error": "API V3 is no longer supported. Use API V4 instead."}, 410)

    def user(self, call: Call) -> Answer:
        """The API's user; `id` is a number, `confirmed_at` says whether the address is confirmed."""
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
        """Headers that say how often the API may still be asked, while that is switched on."""
        if not self.on("rate-headers"):
            return ()
        return (
            ("ratelimit-limit", "2000"),
            ("ratelimit-observed", "1"),
            ("ratelimit-remaining", "1999"),
            ("ratelimit-reset", str(self.now + 60)),
        )

    def rate_limited(self, retry_after: int) -> Answer:
        """429 as plain text, with GitLab's `RateLimit-*` headers."""
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
        """Answer by what is wrong: the scope, the age, a revocation, or anything else."""
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
        """64 hexadecimal digits, like all of GitLab's tokens."""
        return self.hexadecimal(64)

    new_access_token = new_code
    new_refresh_token = new_code

    def derived_subject(self, person: Person, client_id: str) -> str:
        """A number of 5 digits, the same for every client."""
        return self.number(person, 5)


def challenge(error: str, description: str) -> str:
    """Doorkeeper's `WWW-Authenticate`."""
    return f'Bearer realm="Doorkeeper", error="{error}", error_description="{description}"'
