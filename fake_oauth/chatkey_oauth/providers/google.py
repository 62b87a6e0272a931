"""Google: OpenID Connect in which scopes and endpoints have two forms.

Google issues a refresh token only at the first consent. The token endpoint also accepts JSON, because axios sends an
object as JSON. Sources:

- The response of `/tokeninfo`, in which every member is a string:
  pkg.go.dev/go.chromium.org/luci/common/gcloud/googleoauth.
- The response of versions 1 and 2 of `/tokeninfo`:
  googleapis.dev/ruby/google-api-client/latest/Google/Apis/Oauth2V2/Tokeninfo.html.
- The error names a refused grant type: github.com/android/play-billing-samples/issues/471.
- A missing grant type counts as an empty one: github.com/googleapis/google-api-ruby-client/issues/862.
- The messages of Google's APIs for an invalid and for a missing token: github.com/mxrch/GHunt/issues/513,
  github.com/googleapis/google-api-php-client/issues/2479.
- A missing client id or secret: github.com/openid/AppAuth-iOS/issues/226,
  github.com/googleapis/google-api-nodejs-client/issues/1582.
- A missing or empty scope is reported as a missing parameter: github.com/olivierbon/Placid/issues/25.
- The error for an invalid scope, which can also occur at a refresh:
  github.com/googleapis/google-auth-library-python/issues/999.
- A scope that the refresh token does not have: github.com/kelproject/pykube/issues/86,
  github.com/openid/AppAuth-Android/issues/419.
- id_tokens use either form of the issuer: github.com/coreos/go-oidc/issues/125,
  github.com/googleapis/google-auth-library-nodejs/pull/63.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from chatkey_oauth.engine.advice import advised, unknown_scope
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import Answer, Headers, json_answer
from chatkey_oauth.engine.provider import Provider
from chatkey_oauth.engine.reading import split_scopes
from chatkey_oauth.engine.refusals import (
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
from chatkey_oauth.engine.text import clean
from chatkey_oauth.providers import google_people

if TYPE_CHECKING:
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest
    from chatkey_oauth.engine.world import Addresses

SCOPE_URLS = {
    "email": "https://www.googleapis.com/auth/userinfo.email",
    "profile": "https://www.googleapis.com/auth/userinfo.profile",
}
SCOPE_NAMES = {url: name for name, url in SCOPE_URLS.items()}
"""The short names of the scope URLs. Requests may use either spelling with the same effect."""
WORDS = {"openid": "Your id at Google", "profile": "Your name and picture", "email": "Your e-mail address"}
OPENID_USERINFO = ("/v1/userinfo", "/oauth2/v3/userinfo")
EXPECTED = (
    "Expected OAuth 2 access token, login cookie or other valid authentication credential. "
    "See https://developers.google.com/identity/sign-in/web/devconsole-project."
)
NO_TOKEN = f"Request is missing required authentication credential. {EXPECTED}"
BAD_TOKEN = f"Request had invalid authentication credentials. {EXPECTED}"
TOKEN_INFO_V2 = {
    "azp": "issued_to",
    "aud": "audience",
    "sub": "user_id",
    "scope": "scope",
    "expires_in": "expires_in",
    "email": "email",
    "email_verified": "verified_email",
    "access_type": "access_type",
}
"""The names that members of `/tokeninfo` have in versions 1 and 2."""
URL_SAFE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class Imitated(Provider):
    """Imitates accounts.google.com, and the hosts oauth2, www, openidconnect and people of googleapis.com."""

    name = "google"
    hosts = (
        "accounts.google.com",
        "oauth2.googleapis.com",
        "www.googleapis.com",
        "openidconnect.googleapis.com",
        "people.googleapis.com",
    )
    accent = ("#1a66d0", "#3272d2")
    ready_made = {
        "client_id": "480912345678-readymadereadymadereadymadeready.apps.googleusercontent.com",
        "client_secret": "GOCSPX-ready-made-for-tests-only-00",
    }
    scopes = WORDS | {url: WORDS[name] for url, name in SCOPE_NAMES.items()}
    scope_required = True
    challenge_methods = ("S256", "plain")
    response_modes = ("query", "fragment", "form_post")
    json_bodies = True
    query_tokens = True
    rotates = False
    access_life = 3599
    code_shape = re.compile(r"4/0A[\w-]+")
    first_keys = 2
    words = {
        **say(Words(400, "invalid_grant", "Bad Request"), CODE_REASONS),
        Reason.CLIENT_MISSING: Words(400, "invalid_request", "Could not determine client ID from request."),
        Reason.SECRET_MISSING: Words(400, "invalid_request", "client_secret is missing."),
        Reason.CLIENT_UNKNOWN: Words(401, "invalid_client", "The OAuth client was not found."),
        Reason.CLIENT_SECRET: Words(401, "invalid_client", "The provided client secret is invalid."),
        Reason.VERIFIER_MISSING: Words(400, "invalid_grant", "Missing code verifier."),
        Reason.VERIFIER_WRONG: Words(400, "invalid_grant", "Invalid code verifier."),
        Reason.CODE_MALFORMED: Words(400, "invalid_grant", "Malformed auth code."),
        Reason.REDIRECT_URI: Words(400, "redirect_uri_mismatch", "Bad Request"),
        Reason.REFRESH_TOKEN: Words(400, "invalid_grant", "Token has been expired or revoked."),
        Reason.SCOPE_NOT_GRANTED: Words(400, "invalid_scope", "Bad Request"),
        Reason.SCOPE: Words(400, "invalid_scope", "Some requested scopes were invalid. {invalid=[{member}]}"),
        Reason.PARAMETER_MISSING: Words(400, "invalid_request", "Missing required parameter: {member}"),
        Reason.GRANT_TYPE: Words(400, "unsupported_grant_type", "Invalid grant_type: {member}"),
    }
    open_to_pages = frozenset({Leg.DISCOVERY, Leg.KEYS, Leg.TOKEN, Leg.PROFILE, Leg.REVOKE})
    switches = (
        Switch("iss", True, "The callback has `iss` (RFC 9207), which Google has sent since 2026."),
        Switch("advertise-iss", True, "The discovery document says that the callback has `iss`."),
        Switch("bare-iss", False, "An id_token names its issuer without the scheme: `accounts.google.com`."),
        Switch("silent-prompt", True, "`prompt=none` is answered with an error if a page would be needed."),
        Switch(
            "remember-approval", False, "A person who has already approved the same scopes is sent back without a page."
        ),
        Switch("www-authenticate", True, "A refusal by userinfo has the header `WWW-Authenticate`."),
    )

    def routes(self) -> dict[str, Route]:
        """Return discovery, both forms of the authorization endpoint, and all forms of token, userinfo and token
        info.
        """
        return {
            "GET /.well-known/openid-configuration": Route(Leg.DISCOVERY, self.discovery),
            "GET /o/oauth2/v2/auth": Route(Leg.AUTHORIZE, self.authorize),
            "GET /o/oauth2/auth": Route(Leg.AUTHORIZE, self.authorize),
            "POST /token": Route(Leg.TOKEN, self.token),
            "POST /o/oauth2/token": Route(Leg.TOKEN, self.token),
            "POST /oauth2/v4/token": Route(Leg.TOKEN, self.token),
            "POST /oauth2/v3/token": Route(Leg.TOKEN, self.token),
            "GET POST /v1/userinfo": Route(Leg.PROFILE, self.userinfo),
            "GET POST /oauth2/v3/userinfo": Route(Leg.PROFILE, self.userinfo),
            "GET POST /oauth2/v2/userinfo": Route(Leg.PROFILE, self.userinfo_v2),
            "GET POST /oauth2/v1/userinfo": Route(Leg.PROFILE, self.userinfo_v2),
            "GET /userinfo/v2/me": Route(Leg.PROFILE, self.userinfo_v2),
            "GET /v1/people/me": Route(Leg.PROFILE, self.people_me),
            "GET POST /tokeninfo": Route(Leg.PROFILE, self.token_info),
            "GET POST /oauth2/v3/tokeninfo": Route(Leg.PROFILE, self.token_info),
            "GET POST /oauth2/v2/tokeninfo": Route(Leg.PROFILE, self.token_info_v2),
            "GET POST /oauth2/v1/tokeninfo": Route(Leg.PROFILE, self.token_info_v2),
            "GET /oauth2/v3/certs": Route(Leg.KEYS, self.jwks),
            "GET /oauth2/v1/certs": Route(Leg.KEYS, self.certificates),
            "POST /revoke": Route(Leg.REVOKE, self.revoke),
            "GET POST /o/oauth2/revoke": Route(Leg.REVOKE, self.revoke),
            "POST /device/code": Route(None, self.device),
        }

    def discovery(self, call: Call) -> Answer:
        """The discovery document (OpenID Connect Discovery 4)."""
        del call
        return document(
            self.addresses,
            self.at_host("oauth2.googleapis.com"),
            self.at_host("openidconnect.googleapis.com"),
            self.at_host("www.googleapis.com"),
            advertises_iss=self.on("advertise-iss"),
        )

    def client_refused(self, client_id: str | None) -> Refusal:
        """Show the refusal on a page. For an unknown client, the status is 401."""
        if client_id:
            return ShownToPerson(401, "invalid_client", "The OAuth client was not found.")
        return super().client_refused(client_id)

    def shows_fault(self, error: str) -> bool:
        return True

    def check_request(self, request: AuthorizationRequest) -> None:
        """Refuse scopes that cannot exist. Any URL is accepted, because a URL may be the scope of some API."""
        if invalid := none_at_all(request.scopes):
            valid = ", ".join(scope for scope in request.scopes if may_be(scope))
            words = f"Some requested scopes were invalid. {{valid=[{valid}], invalid=[{', '.join(invalid)}]}}"
            advice = unknown_scope(self.label, self.scopes, request.query["scope"])
            raise advised(ShownToPerson(400, "invalid_scope", words), advice)

    def callback_extras(self) -> dict[str, str]:
        """If the switch `iss` is on, add `iss` to approvals and errors."""
        return {"iss": self.addresses.issuer} if self.on("iss") else {}

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """Show no page to people who have approved before, if the request has `prompt=none` or the switch
        `remember-approval` is on.
        """
        remembered = self.on("remember-approval") and not self.asks_anew(request)
        return silent(request) or remembered or super().skips_consent(request)

    def asks_anew(self, request: AuthorizationRequest) -> bool:
        """Also accept the older parameter `approval_prompt`."""
        return forced(request) or super().asks_anew(request)

    def page_refused(self, request: AuthorizationRequest, *, signed_in: bool) -> str | None:
        """Return an error instead of a page if `prompt=none` forbids a page (OpenID Connect Core 3.1.2.6).

        If the switch `silent-prompt` is off, return None.
        """
        if not silent(request) or not self.on("silent-prompt"):
            return None
        return "interaction_required" if signed_in else "login_required"

    def approved_params(self, request: AuthorizationRequest, grant: Grant, *, first: bool) -> dict[str, str]:
        """Add the scopes in both forms, and parameters that clients must tolerate: `authuser`, `prompt`, `hd`."""
        person = self.person(grant)
        return {
            "scope": " ".join(sorted({*short(grant.scopes), *long(grant.scopes)})),
            "authuser": "0",
            **({"hd": person.hosted_domain} if person.hosted_domain else {}),
            "prompt": "none" if silent(request) or not (first or forced(request)) else "consent",
        }

    def refreshable(self, request: AuthorizationRequest, *, first: bool) -> bool:
        """Return true only for offline access, and only if the consent is the first or is forced."""
        return request.query.get("access_type") == "offline" and (first or forced(request))

    def granted_scopes(self, request: AuthorizationRequest, person: Person, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """Add `openid` to the e-mail scope. With `include_granted_scopes`, also add all previously granted scopes."""
        before = self.grants.consented(request.client.client_id, person.id)
        if before and request.query.get("include_granted_scopes") == "true":
            scopes = (*scopes, *sorted(before.allowed))
        return tuple(dict.fromkeys((*scopes, *(["openid"] if "email" in short(scopes) else []))))

    def refreshed_scopes(self, grant: Grant, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return the requested scopes, which may have the short or the long form."""
        if invalid := none_at_all(asked):
            raise TokenRefused(Reason.SCOPE, clean(", ".join(invalid)))
        if not short(asked) <= short(grant.scopes):
            raise TokenRefused(Reason.SCOPE_NOT_GRANTED, "scope")
        return asked or grant.scopes

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        return super().token_body(issued, id_token) | {"scope": " ".join(long(issued.grant.scopes))}

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """Name the refused grant type in the error. A missing grant type counts as an empty one."""
        missing = refusal.reason is Reason.PARAMETER_MISSING and refusal.member == "grant_type"
        if missing or refusal.reason is Reason.GRANT_TYPE:
            refusal = TokenRefused(Reason.GRANT_TYPE, clean(self.token_params(call).get("grant_type", "")))
        return super().token_refusal(call, refusal)

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """Return the claims of userinfo. The claims are valid for one hour."""
        grant = issued.grant
        return {
            **self.issuer_claim(),
            "azp": grant.client_id,
            "aud": grant.client_id,
            **self.claims(grant),
            "iat": issued.issued_at,
            "exp": issued.issued_at + 3600,
        }

    def issuer_claim(self) -> dict[str, str]:
        """Return the issuer. If the switch `bare-iss` is on, return the issuer without scheme, unlike in discovery."""
        return {"iss": self.addresses.issuer.partition("://")[2]} if self.on("bare-iss") else {}

    def claims(self, grant: Grant) -> dict[str, Any]:
        """Return the claims that the granted scopes allow. Values that the person lacks are omitted."""
        person, scopes = self.person(grant), short(grant.scopes)
        claims: dict[str, Any] = {"sub": self.subject(person, grant.client_id), "hd": person.hosted_domain}
        if "email" in scopes and person.email:
            claims["email"] = person.email
            claims["email_verified"] = person.email_verified
        if "profile" in scopes:
            claims["name"] = person.name
            claims["picture"] = self.picture(person)
            claims["given_name"] = person.given_name
            claims["family_name"] = person.family_name
        return {name: value for name, value in claims.items() if value is not None}

    def userinfo(self, call: Call) -> Answer:
        """The userinfo endpoint with OpenID Connect's names."""
        return json_answer(self.claims(self.bearer(call).grant))

    def userinfo_v2(self, call: Call) -> Answer:
        """The userinfo endpoint with the older names `id` and `verified_email`."""
        claims = self.claims(self.bearer(call).grant)
        older = {"sub": "id", "email_verified": "verified_email"}
        return json_answer({older.get(name, name): value for name, value in claims.items()})

    def token_info(self, call: Call) -> Answer:
        """The endpoint that describes an access token or an id_token. Every member is a string."""
        known = self.about_token(call)
        return json_answer({name: as_text(value) for name, value in known.items()}) if known else invalid_value()

    def token_info_v2(self, call: Call) -> Answer:
        """The older version of `/tokeninfo`, with other names. Numbers and booleans are not strings."""
        known = self.about_token(call)
        if known is None:
            return invalid_value()
        known["expires_in"] = known["exp"] - self.now
        return json_answer({older: known[name] for name, older in TOKEN_INFO_V2.items() if name in known})

    def about_token(self, call: Call) -> dict[str, Any] | None:
        """Return the description of the id_token or access token in the request, or None if the token is not valid."""
        params = call.query | call.form
        return self.about_id_token(params["id_token"]) if "id_token" in params else self.about_access_token(call)

    def about_id_token(self, text: str) -> dict[str, Any] | None:
        """Return claims and header of an id_token that was signed here, or None if it is invalid or expired."""
        header, claims = self.keys.verified(text) or ({}, {})
        return claims | header if claims.get("exp", 0) > self.now else None

    def about_access_token(self, call: Call) -> dict[str, Any] | None:
        """Return client, person, scopes and remaining lifetime of a token, or None if it is not valid."""
        try:
            issued = self.bearer(call)
        except BearerRefused:
            return None
        grant, ends = issued.grant, issued.expires_at or 0
        claims = self.claims(grant)
        told = ("sub", "email", "email_verified") if "openid" in grant.scopes else ("email", "email_verified")
        return {
            "azp": grant.client_id,
            "aud": grant.client_id,
            **{name: claims[name] for name in told if name in claims},
            "scope": " ".join(dict.fromkeys(SCOPE_URLS.get(scope, scope) for scope in grant.scopes)),
            "exp": ends,
            "expires_in": ends - self.now,
            "access_type": "offline" if grant.refreshable else "online",
        }

    def people_me(self, call: Call) -> Answer:
        """The People API's endpoint for the person, with the requested `personFields`."""
        claims = self.claims(self.bearer(call).grant)
        return google_people.answer(claims, split_scopes(call.query.get("personFields", "")))

    def refused(self, call: Call, refusal: Refusal) -> Answer:
        """Refuse an invalid token in the wording of Google's APIs.

        OpenID Connect's userinfo endpoint has a different wording.
        """
        if not isinstance(refusal, BearerRefused) or call.path in OPENID_USERINFO:
            return super().refused(call, refusal)
        message = NO_TOKEN if refusal.problem is Problem.MISSING else BAD_TOKEN
        return google_people.refusal(401, message, "UNAUTHENTICATED", self.challenge())

    def challenge(self) -> Headers:
        """Return the header for a response with status 401 (RFC 6750 3)."""
        value = f'Bearer realm="{self.addresses.issuer}/", error="invalid_token"'
        return (("www-authenticate", value),) if self.on("www-authenticate") else ()

    def rate_limited(self, retry_after: int) -> Answer:
        """Return Google's error object with status 429. The response does not say when to retry."""
        del retry_after
        message = "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute'."
        return json_answer({"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED"}}, 429)

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        body = {"error": "invalid_request", "error_description": "Invalid Credentials"}
        return json_answer(body, 401, self.challenge())

    def certificates(self, call: Call) -> Answer:
        """The endpoint that publishes the keys as certificates, by `kid`."""
        return json_answer(self.keys.certificates(self.world.clock()))

    def revoke(self, call: Call) -> Answer:
        """Withdraw an approval through any of its tokens. The client does not authenticate."""
        issued = self.grants.find(call.form.get("token") or call.query.get("token", ""))
        if issued is None or issued.is_revoked:
            return json_answer({"error": "invalid_token", "error_description": "Token expired or revoked"}, 400)
        self.grants.withdraw(issued.grant)
        return json_answer({})

    def device(self, call: Call) -> Answer:
        """Refuse to issue a device code to a web application."""
        return json_answer({"error": "invalid_client", "error_description": "Invalid client type."}, 401)

    def new_code(self) -> str:
        """Return `4/0A` and 60 characters. Clients must decode the slash exactly once."""
        return "4/0A" + self.alphanumeric(60, URL_SAFE)

    def new_access_token(self) -> str:
        return "ya29.a0" + self.alphanumeric(90, URL_SAFE)

    def new_refresh_token(self) -> str:
        return "1//0" + self.alphanumeric(60, URL_SAFE)

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return a number of 21 digits. It is the same for every client."""
        return self.number(person, 21)


@lru_cache(maxsize=64)
def document(addresses: Addresses, tokens: str, profiles: str, keys: str, *, advertises_iss: bool) -> Answer:
    """Return the discovery document. The result is cached, because clients of some tests request nothing else."""
    return json_answer(
        {
            "issuer": addresses.issuer,
            "authorization_endpoint": f"{addresses.browser}/o/oauth2/v2/auth",
            "device_authorization_endpoint": f"{tokens}/device/code",
            "token_endpoint": f"{tokens}/token",
            "userinfo_endpoint": f"{profiles}/v1/userinfo",
            "revocation_endpoint": f"{tokens}/revoke",
            "jwks_uri": f"{keys}/oauth2/v3/certs",
            "response_types_supported": [
                *("code", "token", "id_token", "code token", "code id_token", "token id_token"),
                *("code token id_token", "none"),
            ],
            "response_modes_supported": Imitated.response_modes,
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "email", "profile"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "claims_supported": [
                *("aud", "email", "email_verified", "exp", "family_name", "given_name"),
                *("iat", "iss", "name", "picture", "sub"),
            ],
            "code_challenge_methods_supported": ["plain", "S256"],
            "grant_types_supported": [
                *("authorization_code", "refresh_token"),
                *("urn:ietf:params:oauth:grant-type:device_code", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ],
            "authorization_response_iss_parameter_supported": advertises_iss,
        },
        headers=(("cache-control", "public, max-age=3600"),),
    )


def invalid_value() -> Answer:
    return json_answer({"error": "invalid_token", "error_description": "Invalid Value"}, 400)


def as_text(value: Any) -> str:
    """Return a claim as a string. Booleans are written as in JSON."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def silent(request: AuthorizationRequest) -> bool:
    """Return whether the client forbids a page."""
    return request.query.get("prompt") == "none"


def may_be(scope: str) -> bool:
    """Return whether a scope can exist. It must be an OpenID Connect scope or a URL, like the scopes of all APIs."""
    return scope in WORDS or scope.startswith(("https://", "http://"))


@lru_cache(maxsize=64)
def none_at_all(scopes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(scope for scope in scopes if not may_be(scope))


@lru_cache(maxsize=64)
def short(scopes: tuple[str, ...]) -> frozenset[str]:
    """Return the scopes in their short form, without duplicates."""
    return frozenset(SCOPE_NAMES.get(scope, scope) for scope in scopes)


@lru_cache(maxsize=64)
def long(scopes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the scopes in their long form, without duplicates."""
    return tuple(dict.fromkeys(SCOPE_URLS.get(scope, scope) for scope in scopes))


def forced(request: AuthorizationRequest) -> bool:
    """Return whether the client asks for consent even from people who have already given it."""
    query = request.query
    return "consent" in query.get("prompt", "").split() or query.get("approval_prompt") == "force"
