"""A generic OpenID Connect issuer: the standard's endpoints and error messages, and any claims that a test wants.

The standards are OpenID Connect Core and Discovery 1.0, RFC 6749 (5.2 for the error messages), RFC 6750, RFC 7009 and
RFC 7662, RFC 9068, OpenID Connect RP-Initiated Logout 1.0 and Back-Channel Logout 1.0.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from chatkey_oauth.engine import logout
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import NO_STORE, Answer, json_answer
from chatkey_oauth.engine.provider import Provider
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
from chatkey_oauth.engine.signing import KeyRing, make_ec_key
from chatkey_oauth.engine.text import fingerprint
from chatkey_oauth.engine.token import CLIENT_CREDENTIALS, own_token
from chatkey_oauth.engine.world import Lives

if TYPE_CHECKING:
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest

BAD_GRANT: Final = Words(
    400, "invalid_grant", "The {member} is invalid, expired, used, or was issued to another client."
)
OF_THE_PROTOCOL: Final = frozenset(
    {"iss", "sub", "aud", "azp", "exp", "iat", "nonce", "at_hash", "c_hash", "auth_time", "sid"}
)
"""Claims that the `claims` of a person cannot set. Faults can change them."""


class Imitated(Provider):
    """Imitates no particular provider, but a generic OpenID Connect issuer."""

    name = "oidc"
    has_tenants = True
    hosts = ()
    accent = ("#9a3412", "#b4501f")
    ready_made = {"client_id": "ready-made", "client_secret": "ready-made-for-tests-only"}
    scopes = {
        "openid": "Your id",
        "profile": "Your name and picture",
        "email": "Your e-mail address",
        "offline_access": "Access to your data at any time",
    }
    default_scope = ""
    challenge_methods = ("S256", "plain")
    response_modes = ("query", "fragment", "form_post")
    words = {
        **say(Words(401, "invalid_client", "Client authentication failed."), CLIENT_REASONS),
        **say(BAD_GRANT, (*CODE_REASONS, *VERIFIER_REASONS, Reason.REDIRECT_URI, Reason.REFRESH_TOKEN)),
        **say(
            Words(400, "invalid_request", "The {member} is missing or malformed."),
            (Reason.PARAMETER_MISSING, Reason.CONTENT_TYPE),
        ),
        Reason.SCOPE: Words(400, "invalid_scope", "The scope is malformed."),
        Reason.SCOPE_NOT_GRANTED: Words(400, "invalid_scope", "The scope exceeds what the person granted."),
        **say(
            Words(400, "unsupported_grant_type", "The grant type is not supported."),
            (Reason.GRANT_TYPE, Reason.PUBLIC_CLIENT),
        ),
    }
    knows_machines = True
    keeps_sessions = True
    narrows = True
    open_to_pages = frozenset({Leg.DISCOVERY, Leg.KEYS, Leg.TOKEN, Leg.PROFILE, Leg.REVOKE})

    @property
    def label(self) -> str:
        """The name that people see. The chat service has no name for it, because it is not a social provider."""
        return "OpenID Connect"

    def routes(self) -> dict[str, Route]:
        return {
            "GET /.well-known/openid-configuration": Route(Leg.DISCOVERY, self.discovery),
            "GET /.well-known/oauth-authorization-server": Route(Leg.DISCOVERY, self.discovery),
            "GET /authorize": Route(Leg.AUTHORIZE, self.authorize),
            "POST /token": Route(Leg.TOKEN, self.token),
            "GET POST /userinfo": Route(Leg.PROFILE, self.userinfo),
            "POST /introspect": Route(Leg.PROFILE, self.introspect),
            "POST /revoke": Route(Leg.REVOKE, self.revoke),
            "GET /jwks": Route(Leg.KEYS, self.jwks),
            "GET POST /logout": Route(None, self.logout),
        }

    def discovery(self, call: Call) -> Answer:
        """The discovery document, which is also the metadata document (RFC 8414)."""
        del call
        return self._document

    @cached_property
    def _document(self) -> Answer:
        browser, server, issuer = self.addresses
        return json_answer(
            {
                "issuer": issuer,
                "authorization_endpoint": f"{browser}/authorize",
                "token_endpoint": f"{server}/token",
                "userinfo_endpoint": f"{server}/userinfo",
                "introspection_endpoint": f"{server}/introspect",
                "revocation_endpoint": f"{server}/revoke",
                "jwks_uri": f"{server}/jwks",
                "end_session_endpoint": f"{browser}/logout",
                "backchannel_logout_supported": True,
                "backchannel_logout_session_supported": True,
                "scopes_supported": list(self.scopes),
                "response_types_supported": ["code"],
                "response_modes_supported": list(self.response_modes),
                "grant_types_supported": ["authorization_code", "refresh_token", CLIENT_CREDENTIALS],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256", "ES256"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
                "code_challenge_methods_supported": list(self.challenge_methods),
                "authorization_response_iss_parameter_supported": True,
                "claims_supported": [
                    *("iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "name", "given_name", "family_name"),
                    *("preferred_username", "picture", "email", "email_verified", "sid"),
                ],
            }
        )

    def logout(self, call: Call) -> Answer:
        """The endpoint with which an application signs a person out."""
        return logout.end_session(self, call)

    def callback_extras(self) -> dict[str, str]:
        """Add `iss` to approvals and errors (RFC 9207)."""
        return {"iss": self.addresses.issuer}

    def page_refused(self, request: AuthorizationRequest, *, signed_in: bool) -> str | None:
        """Return an error instead of a page if `prompt=none` forbids a page (OpenID Connect Core 3.1.2.6)."""
        if request.query.get("prompt") != "none":
            return None
        return "consent_required" if signed_in else "login_required"

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """With `prompt=none`, show no page to people who have approved before."""
        return request.query.get("prompt") == "none" or super().skips_consent(request)

    # Tokens

    @cached_property
    def ec_keys(self) -> KeyRing:
        """The keys that sign with ES256."""
        return KeyRing(make_ec_key)

    def keys_for(self, client_id: str) -> KeyRing:
        """Return the keys for the algorithm that the client has registered."""
        client = self.world.clients.get(self.name, client_id)
        algorithm = client.id_token_signed_response_alg if client else "RS256"
        return self.ec_keys if algorithm == "ES256" else self.keys

    def jwks(self, call: Call) -> Answer:
        """The keys for RS256 and ES256."""
        del call
        keys = [*self.keys.jwks()["keys"], *self.ec_keys.jwks()["keys"]]
        return json_answer({"keys": keys}, headers=(("cache-control", "public, max-age=3600, must-revalidate"),))

    def access_token(self, grant: Grant, expires_at: int | None) -> str:
        """Return an opaque token, or a JWT (RFC 9068) for applications that have registered for JWTs."""
        client = self.world.clients.get(self.name, grant.client_id)
        if client is None or client.access_tokens == "opaque":
            return self.new_access_token()
        subject = self.subject(self.person(grant), grant.client_id) if grant.person_id else grant.client_id
        claims = {
            "iss": self.addresses.issuer,
            "sub": subject,
            "aud": client.audience or self.addresses.issuer,
            "client_id": grant.client_id,
            "scope": " ".join(grant.scopes),
            "iat": self.now,
            "exp": expires_at,
            "jti": self.hexadecimal(32),
            **({} if grant.for_itself else {"auth_time": grant.auth_time}),
        }
        return self.keys.sign(claims, typ="at+jwt")

    def lives(self) -> Lives:
        """Return the lifetimes in the settings, or the default lifetimes."""
        usual, told = super().lives(), self.world.lifetimes
        return Lives(told.get("code", usual.code), told.get("access", usual.access), told.get("refresh", usual.refresh))

    def refreshable(self, request: AuthorizationRequest, *, first: bool) -> bool:
        """Return whether the request asks for offline access (OpenID Connect Core 11).

        Otherwise there is no refresh token.
        """
        return "offline_access" in request.scopes

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """Return the claims of userinfo. The claims are valid for the time in the settings, or for one hour."""
        return {
            **self.claims(issued.grant),
            "aud": issued.grant.client_id,
            "iat": issued.issued_at,
            "exp": issued.issued_at + self.world.lifetimes.get("id", 3600),
            "auth_time": issued.grant.auth_time,
            **({} if issued.grant.sid is None else {"sid": issued.grant.sid}),
        }

    def claims(self, grant: Grant) -> dict[str, Any]:
        """Return the claims that the granted scopes allow, and the `claims` of the person.

        In `claims`, None removes a claim.
        """
        person = self.person(grant)
        claims: dict[str, Any] = {"sub": self.subject(person, grant.client_id)}
        if "profile" in grant.scopes:
            claims |= {
                "name": person.name,
                "given_name": person.given_name,
                "family_name": person.family_name,
                "preferred_username": person.login,
                "picture": self.picture(person),
            }
        if "email" in grant.scopes and person.email:
            claims |= {"email": person.email, "email_verified": person.email_verified}
        wished = {name: value for name, value in person.claims.items() if name not in OF_THE_PROTOCOL}
        return {name: value for name, value in (claims | wished).items() if value is not None}

    # Endpoints that need an access token

    def bearer_text(self, call: Call) -> str | None:
        """Return the access token from the header or from a POST's body (OpenID Connect Core 5.3.1, RFC 6750 2.2)."""
        return super().bearer_text(call) or (None if call.is_json else call.form.get("access_token"))

    def userinfo(self, call: Call) -> Answer:
        """The userinfo endpoint, which needs the scope `openid`."""
        return json_answer(self.claims(self.bearer(call, "openid").grant))

    def introspect(self, call: Call) -> Answer:
        """The endpoint that tells a client whether one of its tokens is active (RFC 7662)."""
        issued = own_token(self, call)
        ended = issued is None or issued.is_revoked or (issued.expires_at or self.now + 1) <= self.now
        if issued is None or ended:
            return json_answer({"active": False})
        grant = issued.grant
        return json_answer(
            {
                "active": True,
                "scope": " ".join(grant.scopes),
                "client_id": grant.client_id,
                "sub": self.subject(self.person(grant), grant.client_id) if grant.person_id else grant.client_id,
                "token_type": "Bearer",
                "iss": self.addresses.issuer,
                "iat": issued.issued_at,
                "exp": issued.expires_at,
            }
        )

    def revoke(self, call: Call) -> Answer:
        """Revoke an access token and its refresh token. An unknown token counts as already revoked (RFC 7009 2.2)."""
        if issued := own_token(self, call):
            issued.revoked = True
        return Answer(200, headers=NO_STORE)

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """Report the error in the header and in the body (RFC 6750 3)."""
        if refusal.problem is Problem.MISSING:
            return json_answer({"error": "invalid_token"}, 401, (("www-authenticate", "Bearer"),))
        error, status = ("insufficient_scope", 403) if refusal.problem is Problem.SCOPE else ("invalid_token", 401)
        scope = f', scope="{refusal.scope}"' if refusal.scope else ""
        return json_answer({"error": error}, status, (("www-authenticate", f'Bearer error="{error}"{scope}'),))

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """If a client used a Basic header, the response asks for Basic authentication (RFC 6749 5.2)."""
        answer = super().token_refusal(call, refusal)
        if answer.status != 401 or "authorization" not in call.headers:
            return answer
        return Answer(answer.status, answer.body, (*answer.headers, ("www-authenticate", 'Basic realm="token"')))

    # Formats

    def new_code(self) -> str:
        """Return 40 letters and digits, the format of all codes and tokens of this provider."""
        return self.alphanumeric(40)

    new_access_token = new_code
    new_refresh_token = new_code

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return a UUID. It is the same for every client."""
        digits = fingerprint(f"oidc {person.id}")
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
