"""TikTok (Login Kit v2): `client_key`, comma-separated scopes, hexadecimal challenges, token errors with status 200.

Errors have one format at the token endpoint and another at the API.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from chatkey_oauth.engine.advice import advised, forgotten_scope
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import Answer, json_answer
from chatkey_oauth.engine.provider import Provider
from chatkey_oauth.engine.refusals import (
    CLIENT_REASONS,
    CODE_REASONS,
    VERIFIER_REASONS,
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
from chatkey_oauth.engine.token import own_token
from chatkey_oauth.engine.world import Lives

if TYPE_CHECKING:
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest

MALFORMED: Final = Words(200, "invalid_request", "The request parameters are malformed.")
LOOPBACK_PORT: Final = re.compile(r"^(https?://(?:localhost|127\.0\.0\.1)):\*(?=/|$)")
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "user.info.basic": (
        "open_id",
        "union_id",
        "avatar_url",
        "avatar_url_100",
        "avatar_url_200",
        "avatar_large_url",
        "display_name",
    ),
    "user.info.profile": ("username", "bio_description", "profile_deep_link", "is_verified"),
    "user.info.stats": ("follower_count", "following_count", "likes_count", "video_count"),
}
"""The fields of the user to which each scope gives access."""


class Imitated(Provider):
    """Imitates www.tiktok.com and open.tiktokapis.com."""

    name = "tiktok"
    hosts = ("www.tiktok.com", "open.tiktokapis.com")
    accent = ("#c2213f", "#d5304d")
    ready_made = {
        "client_id": "awreadymade0000000",
        "client_secret": "ready-made-for-tests-only-000000",
    }
    scopes = {
        "user.info.basic": "Your display name and picture",
        "user.info.profile": "Your user name, profile address and biography",
        "user.info.stats": "Your follower and video counts",
    }
    scope_separator = ","
    strict_scopes = True
    declinable = frozenset({"user.info.profile", "user.info.stats"})
    client_parameter = "client_key"
    error_heading = "Something went wrong"
    basic_auth = False
    words = {
        **say(Words(200, "invalid_client", "Client key or secret is incorrect."), CLIENT_REASONS),
        **say(Words(200, "invalid_grant", "Authorization code is expired."), CODE_REASONS),
        **say(Words(200, "invalid_request", "Code verifier or code challenge is invalid."), VERIFIER_REASONS),
        **say(MALFORMED, (Reason.PARAMETER_MISSING, Reason.CONTENT_TYPE)),
        Reason.REDIRECT_URI: Words(
            200, "invalid_request", "Redirect_uri is not matched with the uri when requesting code."
        ),
        Reason.REFRESH_TOKEN: Words(200, "invalid_grant", "Refresh token is invalid or expired."),
        Reason.GRANT_TYPE: Words(200, "unsupported_grant_type", "Grant type is not supported."),
    }
    switches = (
        Switch("token-errors-400", False, "Errors of the token endpoint have status 400 instead of 200."),
        Switch(
            "older-lifetimes",
            False,
            "Access tokens are valid for 24 hours instead of 2, and refresh tokens for 365 days instead of 180.",
        ),
        Switch(
            "web-base64url", True, "Web applications may send a challenge in base64url, and not only in hexadecimal."
        ),
        Switch("basic-always", True, "`user.info.basic` is granted with every approval, even if not requested."),
        Switch("err-code", False, "The callback of a refusal also has `errCode` and `error_type`."),
    )

    def routes(self) -> dict[str, Route]:
        """Return the endpoints. Every path is served with and without a trailing slash."""
        return {
            "GET /v2/auth/authorize": Route(Leg.AUTHORIZE, self.authorize),
            "POST /v2/oauth/token": Route(Leg.TOKEN, self.token),
            "POST /v2/oauth/revoke": Route(Leg.REVOKE, self.revoke),
            "GET /v2/user/info": Route(Leg.PROFILE, self.user),
        }

    def canonical(self, path: str) -> str:
        return path.removesuffix("/")

    # Authorization endpoint

    def client_refused(self, client_id: str | None) -> Refusal:
        """Refuse on a page that names `client_key` as the invalid parameter."""
        return blamed("client_key", "unauthorized_client")

    def redirect_allowed(self, client: Client, uri: str) -> bool:
        """Allow registered URIs. In a URI of a desktop application, `*` stands for any port on this machine."""
        if super().redirect_allowed(client, uri):
            return True
        return client.kind == "desktop" and any(same_but_port(uri, known) for known in client.redirect_uris)

    def redirect_refused(self, client: Client, call: Call) -> Refusal:
        """Refuse on a page that names `redirect_uri` as the invalid parameter."""
        return blamed("redirect_uri")

    def needs_challenge(self, client: Client) -> bool:
        return client.kind == "desktop"

    def shows_fault(self, error: str) -> bool:
        """Show missing and invalid parameters on a page.

        Unsupported scopes and response types are reported to the client.
        """
        return error == "invalid_request"

    def comparison(self, client: Client, method: str) -> str:
        """Compare the challenge as hexadecimal digits. For web applications, base64url is accepted, too."""
        return "S256 any" if client.kind == "web" and self.on("web-base64url") else "S256 hex"

    def denied_params(self) -> dict[str, str]:
        """Report the denial. If the switch `err-code` is on, include the parameters of older flows."""
        older = {"errCode": "-2", "error_type": "access_denied"} if self.on("err-code") else {}
        return self.fault_params("access_denied", "The user denied the request.") | older

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """If the request has `disable_auto_auth=0`, show no page to people who have approved before."""
        return request.query.get("disable_auto_auth") == "0" or super().skips_consent(request)

    def approved_params(self, request: AuthorizationRequest, grant: Grant, *, first: bool) -> dict[str, str]:
        return {"scopes": self.scope_separator.join(grant.scopes)}

    def granted_scopes(self, request: AuthorizationRequest, person: Person, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """Add the basic profile, because Login Kit adds this scope to all applications."""
        del request, person
        return tuple(dict.fromkeys(("user.info.basic", *scopes))) if self.on("basic-always") else scopes

    # Token endpoint

    def lives(self) -> Lives:
        """Return lifetimes of two hours and 180 days.

        If the switch `older-lifetimes` is on, return one day and one year.
        """
        access, refresh = (86400, 31536000) if self.on("older-lifetimes") else (7200, 15552000)
        return Lives(self.code_life, access, refresh)

    def token_params(self, call: Call) -> dict[str, str]:
        """Return the parameters, with the client id from `client_key`. A `client_id` is ignored."""
        params = super().token_params(call)
        return params | {"client_id": params.get("client_key", "")}

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        """Return the token response. It contains the person's id and the lifetime of the refresh token."""
        lives = self.lives()
        return {
            "access_token": issued.access,
            "expires_in": lives.access,
            "open_id": self.subject(self.person(issued.grant), issued.grant.client_id),
            "refresh_expires_in": lives.refresh,
            "refresh_token": issued.refresh,
            "scope": self.scope_separator.join(issued.grant.scopes),
            "token_type": "Bearer",
        }

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """Return an error with three members. The status is 200, or 400 if the switch `token-errors-400` is on."""
        words = self.words_for(refusal.reason)
        body = {"error": words.error, "error_description": words.description or "", "log_id": self.log_id()}
        return self.token_answer(call, body, 400 if self.on("token-errors-400") else words.status)

    def revoke(self, call: Call) -> Answer:
        """Withdraw the complete approval to which a token belongs."""
        if issued := own_token(self, call):
            self.grants.withdraw(issued.grant)
        return json_answer({})

    # API

    def user(self, call: Call) -> Answer:
        """The user endpoint.

        It returns the requested fields in TikTok's envelope. The scopes must allow all of these fields.
        """
        issued = self.bearer(call)
        fields = [field for field in call.query.get("fields", "").split(",") if field]
        if not fields or not set(fields) <= {field for opened in FIELDS.values() for field in opened}:
            return self.api_error(400, "invalid_params", "The request parameters are invalid: fields.")
        if not set(fields) <= {field for scope in issued.grant.scopes for field in FIELDS[scope]}:
            needed = [scope for scope in FIELDS if scope not in issued.grant.scopes and opens(scope, fields)]
            raise advised(BearerRefused(Problem.SCOPE, "fields"), forgotten_scope(needed, issued.grant.scopes))
        profile = self.profile(issued.grant)
        user = {field: profile[field] for field in fields}
        return json_answer({"data": {"user": user}, "error": self.api_status("ok", "")})

    def profile(self, grant: Grant) -> dict[str, Any]:
        """Return all fields. There is no e-mail address, and `is_verified` means a badge."""
        person = self.person(grant)
        picture = self.portrait(person)
        return {
            "open_id": self.subject(person, grant.client_id),
            "union_id": self.uuid(f"union {person.id}"),
            "avatar_url": picture,
            "avatar_url_100": picture,
            "avatar_url_200": picture,
            "avatar_large_url": picture,
            "display_name": person.name or person.login,
            "username": person.login,
            "bio_description": "",
            "profile_deep_link": f"{self.addresses.browser}/@{person.login}",
            "is_verified": False,
            "follower_count": 2,
            "following_count": 1,
            "likes_count": 0,
            "video_count": 0,
        }

    def rate_limited(self, retry_after: int) -> Answer:
        """Return 429 with the error in the envelope of all TikTok responses."""
        del retry_after
        error = {
            "code": "rate_limit_exceeded",
            "message": "The API rate limit was exceeded. Please try again later.",
            "log_id": self.hexadecimal(32).upper(),
        }
        return json_answer({"data": {}, "error": error}, 429)

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """Return 401. The error for a missing scope differs from the error for an invalid token."""
        if refusal.problem is Problem.SCOPE:
            message = "The user did not authorize the scope required for completing this request."
            return self.api_error(401, "scope_not_authorized", message)
        message = "The access token is invalid or not found in the request."
        return self.api_error(401, "access_token_invalid", message)

    def api_error(self, status: int, code: str, message: str) -> Answer:
        return json_answer({"data": {}, "error": self.api_status(code, message)}, status)

    def api_status(self, code: str, message: str) -> dict[str, str]:
        """Return the member `error`, which successful responses also have."""
        return {"code": code, "message": message, "log_id": self.log_id()}

    # Formats

    def log_id(self) -> str:
        return datetime.fromtimestamp(self.now, UTC).strftime("%Y%m%d%H%M%S") + self.hexadecimal(20).upper()

    def new_code(self) -> str:
        """Return letters and digits with a star and an exclamation mark. Clients must decode both exactly once."""
        return f"{self.alphanumeric(52)}*v!{self.alphanumeric(4)}.va"

    def new_access_token(self) -> str:
        return f"act.{self.alphanumeric(60)}!{self.alphanumeric(4)}.va"

    def new_refresh_token(self) -> str:
        return f"rft.{self.alphanumeric(60)}!{self.alphanumeric(4)}.va"

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return a UUID. It is different for every application."""
        return self.uuid(f"open {person.id} {client_id}")

    def uuid(self, seed: str) -> str:
        """Derive hexadecimal digits from a seed and format them as a UUID."""
        digits = fingerprint(f"tiktok {seed}")
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def blamed(parameter: str, error: str = "invalid_request") -> ShownToPerson:
    advice = f"We couldn't log in with TikTok. If you're a developer, correct the following and try again: {parameter}."
    return ShownToPerson(400, error, advice)


def opens(scope: str, fields: Collection[str]) -> bool:
    """Return whether a scope gives access to one of these fields."""
    return not set(fields).isdisjoint(FIELDS[scope])


def same_but_port(uri: str, registered: str) -> bool:
    """Return whether a URI matches a URI that was registered with `*` as its port. `*` stands for any port."""
    loopback = LOOPBACK_PORT.match(registered)
    if loopback is None:
        return False
    allowed = re.compile(re.escape(loopback[1]) + r":\d{1,5}" + re.escape(registered[loopback.end() :]))
    return allowed.fullmatch(uri) is not None and urlsplit(uri).fragment == ""
