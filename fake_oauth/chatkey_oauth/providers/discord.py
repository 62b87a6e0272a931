"""Discord: snowflake ids that only fit into strings, and one revocation for a whole authorisation.

Sources:

- Rate limit headers: docs.discord.com/developers/topics/rate-limits.
- JSON has the content type `application/json` without a charset, and clients compare the whole value:
  github.com/Rapptz/discord.py `discord/http.py` (`json_or_text`), github.com/reboxer/discord-oauth2
  `lib/eris/rest/RequestHandler.js`.
- The servers behind the scope `guilds`, and the accounts behind `connections`:
  docs.discord.com/developers/resources/user, "Get Current User Guilds" and "Get Current User Connections".
- The older host name, which clients still use: github.com/discord/discord-api-docs/issues/1665,
  github.com/klen/aioauth-client `aioauth_client.py`.
- A token for the application itself belongs to the owner of the application: docs.discord.com/developers/topics/oauth2,
  "Client Credentials Grant". The refusal of a scope in this grant: github.com/discord/discord-api-docs/issues/2310.
- The metadata has `authorization_response_iss_parameter_supported` (RFC 9207): captures of
  discord.com/.well-known/oauth-authorization-server, read in November 2026.
- All existing scopes: docs.discord.com/developers/topics/oauth2, "OAuth2 Scopes".
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from chatkey_oauth.engine.call import Call, Handler
from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import Answer, Headers, json_answer, text_answer
from chatkey_oauth.engine.provider import Provider
from chatkey_oauth.engine.refusals import CLIENT_REASONS, CODE_REASONS, BearerRefused, Reason, TokenRefused, Words
from chatkey_oauth.engine.routing import Route
from chatkey_oauth.engine.switches import Switch
from chatkey_oauth.engine.text import fingerprint
from chatkey_oauth.engine.token import own_token
from chatkey_oauth.engine.world import Lives

if TYPE_CHECKING:
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest

BUCKET = 5
"""The number of requests per second that a route allows one person.

The fake sends this limit in headers, but does not enforce it.
"""
API_VERSION = re.compile(r"^/api/v\d+(?=/)")
EVERY_SCOPE = frozenset(
    {
        *("activities.read", "activities.write", "applications.builds.read", "applications.builds.upload"),
        *("applications.commands", "applications.commands.permissions.update", "applications.commands.update"),
        *("applications.entitlements", "applications.store.update", "bot", "connections", "dm_channels.read", "email"),
        *("gdm.join", "guilds", "guilds.join", "guilds.members.read", "identify", "messages.read", "openid"),
        *("relationships.read", "role_connections.write", "rpc", "rpc.activities.write", "rpc.notifications.read"),
        *("rpc.voice.read", "rpc.voice.write", "voice", "webhook.incoming"),
    }
)
BAD_CODE = Words(400, "invalid_grant", 'Invalid "code" in request.')


class Imitated(Provider):
    """Imitates discord.com, and its former name discordapp.com."""

    name = "discord"
    hosts = ("discord.com", "discordapp.com")
    accent = ("#4752c4", "#5865f2")
    ready_made = {
        "client_id": "1234567890123456789",
        "client_secret": "ready-made-for-tests-only-000000",
    }
    scopes = {
        "identify": "Your user name, avatar and banner",
        "email": "Your e-mail address",
        "openid": "Your id at Discord",
        "guilds": "Which servers you are in",
        "connections": "Which accounts of yours are connected",
    }
    knows_machines = True
    access_life = 604800
    code_life = 100
    words = {
        **say(Words(401, "invalid_client"), (*CLIENT_REASONS, Reason.PUBLIC_CLIENT)),
        Reason.SCOPE: Words(400, "invalid_scope", "The requested scope is invalid, unknown, or malformed."),
        **say(BAD_CODE, CODE_REASONS),
        Reason.VERIFIER_MISSING: Words(400, "invalid_request", 'Missing "code_verifier"'),
        Reason.VERIFIER_WRONG: Words(400, "invalid_grant", 'Invalid "code_verifier" in request.'),
        Reason.REDIRECT_URI: Words(400, "invalid_grant", 'Invalid "redirect_uri" in request.'),
        Reason.REFRESH_TOKEN: Words(400, "invalid_grant", 'Invalid "refresh_token" in request.'),
        Reason.PARAMETER_MISSING: Words(400, "invalid_request", 'Missing "{member}" in request.'),
        Reason.CONTENT_TYPE: Words(400, "invalid_request", "The request must be form-encoded."),
        Reason.GRANT_TYPE: Words(400, "unsupported_grant_type", "Grant type is not supported"),
    }
    open_to_pages = frozenset({Leg.KEYS, Leg.TOKEN, Leg.PROFILE, Leg.REVOKE})
    switches = (
        Switch("iss", True, "The callback has `iss` (RFC 9207), and the metadata says so."),
        Switch("short-codes", True, "A code is valid for 100 seconds, not 10 minutes."),
        Switch("older-errors", False, "An invalid code is reported as `invalid_request`, as in the past."),
        Switch("user-agent", False, "Requests without a `User-Agent` are refused by the edge with 403."),
    )

    def routes(self) -> dict[str, Route]:
        """Return both forms of the authorization endpoint, the API, and the OpenID Connect endpoints."""
        return {
            "GET /oauth2/authorize": Route(Leg.AUTHORIZE, self.authorize),
            "GET /api/oauth2/authorize": Route(Leg.AUTHORIZE, self.authorize),
            "POST /api/oauth2/token": Route(Leg.TOKEN, self.token),
            "POST /api/oauth2/token/revoke": Route(Leg.REVOKE, self.revoke),
            "GET /api/users/@me": Route(Leg.PROFILE, self.user),
            "GET /api/users/@me/guilds": Route(Leg.PROFILE, self.guilds),
            "GET /api/users/@me/connections": Route(Leg.PROFILE, self.connections),
            "GET /api/oauth2/@me": Route(Leg.PROFILE, self.authorization),
            "GET POST /api/oauth2/userinfo": Route(Leg.PROFILE, self.userinfo),
            "GET /api/oauth2/keys": Route(Leg.KEYS, self.jwks),
            "GET /.well-known/openid-configuration": Route(Leg.DISCOVERY, self.discovery),
            "GET /.well-known/oauth-authorization-server": Route(Leg.DISCOVERY, self.metadata),
        }

    def canonical(self, path: str) -> str:
        """Map `/api/v10` and all other API versions to `/api`."""
        return API_VERSION.sub("/api", path)

    def discovery(self, call: Call) -> Answer:
        """The OpenID Connect discovery document (OpenID Connect Discovery 4)."""
        return json_answer(self.document())

    def metadata(self, call: Call) -> Answer:
        """The metadata of the authorization server (RFC 8414). It has more members than the discovery document."""
        return json_answer(
            self.document()
            | {
                "revocation_endpoint": f"{self.addresses.server}/api/oauth2/token/revoke",
                "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
                "code_challenge_methods_supported": ["S256"],
            }
            | ({"authorization_response_iss_parameter_supported": True} if self.on("iss") else {})
        )

    def document(self) -> dict[str, Any]:
        browser, server, issuer = self.addresses
        return {
            "issuer": issuer,
            "authorization_endpoint": f"{browser}/api/oauth2/authorize",
            "token_endpoint": f"{server}/api/oauth2/token",
            "userinfo_endpoint": f"{server}/api/oauth2/userinfo",
            "jwks_uri": f"{server}/api/oauth2/keys",
            "scopes_supported": list(self.scopes),
            "response_types_supported": ["code", "token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def denied_params(self) -> dict[str, str]:
        return self.fault_params("access_denied", "The resource owner or authorization server denied the request")

    def callback_extras(self) -> dict[str, str]:
        return {"iss": self.addresses.issuer} if self.on("iss") else {}

    def lives(self) -> Lives:
        """Return lifetimes. A code is valid for 100 seconds, or for ten minutes if the switch `short-codes` is off."""
        lives = super().lives()
        return lives if self.on("short-codes") else lives._replace(code=Provider.code_life)

    def route(self, call: Call) -> Route:
        """If the switch `user-agent` is on, refuse requests without a User-Agent before routing them."""
        if self.on("user-agent") and not call.headers.get("user-agent"):
            return Route(None, lambda _: text_answer("error code: 1010", 403))
        return super().route(call)

    def answer(self, handler: Handler, call: Call) -> Answer:
        """Answer with a content type that has no charset if the body is JSON."""
        return bare_json(super().answer(handler, call))

    def machine_scopes(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return the requested scopes. There must be at least one, and Discord must have all of them."""
        if not asked or not EVERY_SCOPE.issuperset(asked):
            raise TokenRefused(Reason.SCOPE, "scope")
        return asked

    def owner(self) -> str:
        """Return the first person. This person owns every application."""
        return next((person.id for person in self.world.people.all()), "")

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """If the switch `older-errors` is on, report an invalid code as `invalid_request`."""
        if refusal.reason in CODE_REASONS and self.on("older-errors"):
            body = {"error": "invalid_request", "error_description": BAD_CODE.description}
            return self.token_answer(call, body, BAD_CODE.status)
        return super().token_refusal(call, refusal)

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """If the request has `prompt=none`, show no page to people who have approved before."""
        return request.query.get("prompt") == "none" or super().skips_consent(request)

    def revoke(self, call: Call) -> Answer:
        """Revoke a token, and all other tokens that the person has granted to the application."""
        if issued := own_token(self, call):
            self.grants.withdraw(issued.grant)
        return json_answer({})

    def user(self, call: Call) -> Answer:
        """The endpoint of the user object, which needs the scope `identify`."""
        grant = self.bearer(call, "identify").grant
        return json_answer(self.profile(grant), headers=self.rate_headers(call))

    def profile(self, grant: Grant) -> dict[str, Any]:
        """Return the user object. `email` and `verified` need the scope `email`."""
        person = self.person(grant)
        profile: dict[str, Any] = {
            "id": self.subject(person, grant.client_id),
            "username": person.login,
            "discriminator": "0",
            "global_name": person.name,
            "avatar": self.avatar_hash(person),
            "avatar_decoration_data": None,
            "banner": None,
            "accent_color": None,
            "public_flags": 64,
            "flags": 64,
            "premium_type": 0,
            "mfa_enabled": True,
            "locale": "en-GB",
            "collectibles": None,
            "primary_guild": None,
        }
        if "email" in grant.scopes:
            profile |= {"email": person.email, "verified": bool(person.email) and person.email_verified}
        return profile

    def guilds(self, call: Call) -> Answer:
        """The endpoint of the person's servers. The list is always empty here. It needs the scope `guilds`."""
        self.bearer(call, "guilds")
        return json_answer([], headers=self.rate_headers(call))

    def connections(self, call: Call) -> Answer:
        """The endpoint of the person's other accounts.

        The endpoint needs the scope `connections`. The list is always empty here.
        """
        self.bearer(call, "connections")
        return json_answer([], headers=self.rate_headers(call))

    def avatar_hash(self, person: Person) -> str | None:
        """Return the hash in the avatar's CDN address.

        The hash of an animated avatar (Rhea has one) begins with `a_`.
        """
        if not person.picture:
            return None
        return ("a_" if person.id == "rhea" else "") + fingerprint(f"avatar {person.id}")

    def authorization(self, call: Call) -> Answer:
        """The endpoint that describes a token: its application, its scopes and, with the scope `identify`, its user."""
        issued = self.bearer(call)
        client = self.world.clients.get(self.name, issued.grant.client_id)
        user = {"user": self.profile(issued.grant)} if "identify" in issued.grant.scopes else {}
        return json_answer(
            {
                "application": {"id": issued.grant.client_id, "name": client.title if client else ""},
                "scopes": list(issued.grant.scopes),
                "expires": datetime.fromtimestamp(issued.expires_at or 0, UTC).isoformat(),
            }
            | user,
            headers=self.rate_headers(call),
        )

    def rate_headers(self, call: Call) -> Headers:
        """Return the headers of a route's rate limit. The headers say that this is the only request so far."""
        return (
            ("x-ratelimit-bucket", fingerprint(f"bucket {self.canonical(call.path)}")),
            ("x-ratelimit-limit", str(BUCKET)),
            ("x-ratelimit-remaining", str(BUCKET - 1)),
            ("x-ratelimit-reset", f"{self.world.clock() + 1:.3f}"),
            ("x-ratelimit-reset-after", "1.000"),
        )

    def claims(self, grant: Grant) -> dict[str, Any]:
        person = self.person(grant)
        claims: dict[str, Any] = {
            "sub": self.subject(person, grant.client_id),
            "preferred_username": person.login,
            "nickname": person.name or person.login,
            "picture": self.picture(person),
            "locale": "en-GB",
        }
        if "email" in grant.scopes:
            claims |= {"email": person.email, "email_verified": bool(person.email) and person.email_verified}
        return claims

    def userinfo(self, call: Call) -> Answer:
        """The userinfo endpoint, which needs the scope `openid`."""
        return json_answer(self.claims(self.bearer(call, "openid").grant))

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """Return the claims of the id_token. `aud` is a list with one entry."""
        return {
            "aud": [issued.grant.client_id],
            "sub": self.subject(self.person(issued.grant), issued.grant.client_id),
            "iat": issued.issued_at,
            "exp": issued.issued_at + 3600,
            "auth_time": issued.grant.auth_time,
        }

    def rate_limited(self, retry_after: int) -> Answer:
        """Return 429. The body has fractions of seconds, and `Retry-After` has whole seconds."""
        headers = (
            ("retry-after", str(retry_after)),
            ("x-ratelimit-limit", "5"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", f"{self.now + retry_after}.470"),
            ("x-ratelimit-reset-after", f"{retry_after}.470"),
            ("x-ratelimit-bucket", self.hexadecimal(32)),
            ("x-ratelimit-scope", "user"),
        )
        body = {"message": "You are being rate limited.", "retry_after": retry_after + 0.47, "global": False}
        return json_answer(body, 429, headers)

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        return json_answer({"message": "401: Unauthorized", "code": 0}, 401)

    def new_code(self) -> str:
        """Return 30 letters and digits, the format of all codes and tokens of Discord."""
        return self.alphanumeric(30)

    new_access_token = new_code
    new_refresh_token = new_code

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return a snowflake that is too large for a double."""
        return self.number(person, 18)


def bare_json(answer: Answer) -> Answer:
    """Remove the charset from the content type of a JSON response."""
    bare = ("content-type", "application/json")
    is_json = ("content-type", "application/json; charset=utf-8")
    return msgspec.structs.replace(answer, headers=tuple(bare if one == is_json else one for one in answer.headers))
