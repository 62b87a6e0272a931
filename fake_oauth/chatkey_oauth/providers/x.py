"""X, formerly Twitter: PKCE and state are required, and codes are valid for thirty seconds.

Every error has a different wording. The token endpoint accepts JSON, which
github.com/PLhery/node-twitter-api-v2 sends.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Any

import msgspec

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.grants import Ring
from chatkey_oauth.engine.http import Answer, Headers, json_answer
from chatkey_oauth.engine.provider import Provider
from chatkey_oauth.engine.refusals import (
    CODE_REASONS,
    BearerRefused,
    Problem,
    Reason,
    ShownToPerson,
    TokenRefused,
    Words,
)
from chatkey_oauth.engine.routing import Route
from chatkey_oauth.engine.switches import Switch
from chatkey_oauth.engine.token import own_token, required

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest
    from chatkey_oauth.engine.world import Addresses, World

PROBLEMS = "https://api.twitter.com/2/problems"
GIVEN = ("id", "name", "username")
"""The members of a user that are always returned."""
FIELDS = (
    *("affiliation", "confirmed_email", "connection_status", "created_at", "description", "entities", "id"),
    *("is_identity_verified", "location", "most_recent_tweet_id", "name", "parody", "pinned_tweet_id"),
    *("profile_banner_url", "profile_image_url", "protected", "public_metrics", "receives_your_dm", "subscription"),
    *("subscription_type", "url", "username", "verified", "verified_followers_count", "verified_type", "withheld"),
)
LONGEST_STATE = 500
WINDOW = 15 * 60
PER_WINDOW = 75
"""The number of times that one person's user can be read within `WINDOW` seconds."""
MISSING = "Missing required parameter [{member}]."


class Window(msgspec.Struct):
    """A period of the rate limit: how often one person's user has been read, and when the period ends."""

    ends: int
    used: int = 0


class Imitated(Provider):
    """Imitates x.com, twitter.com, api.x.com and api.twitter.com."""

    name = "x"
    hosts = ("x.com", "api.x.com", "twitter.com", "api.twitter.com")
    accent = ("#0f1419", "#4b5563")
    ready_made = {
        "client_id": "RmFrZUNsaWVudEZvclRlc3RzOjE6Y2k",
        "client_secret": "ready-made-for-tests-only-0000000000000000000000000",
    }
    scopes = {
        "tweet.read": "The posts you can see",
        "users.read": "Your profile, and the profiles that you can see",
        "users.email": "Your confirmed e-mail address",
        "offline.access": "Access until you revoke it",
    }
    challenge_methods = ("S256", "plain")
    required_params = ("response_type", "scope", "state", "code_challenge", "code_challenge_method")
    error_heading = "Something went wrong"
    error_lead = "You weren't able to give access to the App. "
    body_auth = False
    json_bodies = True
    code_life = 30
    access_life = 7200
    words = {
        **say(Words(400, "invalid_request", "Value passed for the authorization code was invalid."), CODE_REASONS),
        **say(Words(400, "invalid_request", MISSING), (Reason.PARAMETER_MISSING, Reason.VERIFIER_MISSING)),
        Reason.VERIFIER_WRONG: Words(
            400, "invalid_request", "Value passed for the code verifier did not match the code challenge."
        ),
        Reason.REDIRECT_URI: Words(
            400, "invalid_request", "Value passed for the redirect uri did not match the uri of the authorization code."
        ),
        Reason.REFRESH_TOKEN: Words(400, "invalid_request", "Value passed for the token was invalid."),
        **say(
            Words(401, "unauthorized_client", "Missing valid authorization header"),
            (Reason.SECRET_MISSING, Reason.CLIENT_SECRET),
        ),
        **say(Words(401, "invalid_client"), (Reason.CLIENT_MISSING, Reason.CLIENT_UNKNOWN)),
        Reason.GRANT_TYPE: Words(
            400,
            "invalid_request",
            "Value passed for the grant type was invalid. Grant type should be one of "
            "[authorization_code, refresh_token].",
        ),
    }
    switches = (
        Switch("deny-description", False, "A denial also has an `error_description`."),
        Switch("unknown-client", True, "An unknown client gets `invalid_client`, not `unauthorized_client`."),
        Switch("client-id-in-body", False, "The body must contain `client_id` even with a Basic header."),
        Switch("revoked-body", True, 'A revocation is answered with `{"revoked":true}` instead of an empty object.'),
        Switch("field-errors", False, "An e-mail address that may not be read is explained in `errors` beside `data`."),
        Switch("rate-limit", False, f"After {PER_WINDOW} requests for one user in 15 minutes, X answers 429."),
    )

    def __init__(self, world: World, addresses: Addresses) -> None:
        super().__init__(world, addresses)
        self._windows: Ring[Window] = Ring()

    def reset(self) -> None:
        """Also delete the periods of the rate limit."""
        super().reset()
        self._windows.clear()

    def routes(self) -> dict[str, Route]:
        """Return four endpoints, which are the same on all hosts, and the avatars in two sizes."""
        return {
            "GET /i/oauth2/authorize": Route(Leg.AUTHORIZE, self.authorize),
            "POST /2/oauth2/token": Route(Leg.TOKEN, self.token),
            "POST /2/oauth2/revoke": Route(Leg.REVOKE, self.revoke),
            "GET /2/users/me": Route(Leg.PROFILE, self.user),
            "GET /profile_images/{person}": Route(None, self.avatar),
        }

    # Authorization endpoint

    def shows_fault(self, error: str) -> bool:
        return True

    def check_request(self, request: AuthorizationRequest) -> None:
        if len(request.query["state"]) > LONGEST_STATE:
            raise ShownToPerson(400, "invalid_request", f"The state is longer than {LONGEST_STATE} characters.")

    def callback(self, params: Mapping[str, str], query: Mapping[str, str]) -> dict[str, str]:
        if "code" in params:
            return {"state": query["state"], **params}
        return super().callback(params, query)

    def denied_params(self) -> dict[str, str]:
        """Report the denial. If the switch `deny-description` is on, include a description."""
        if self.on("deny-description"):
            return self.fault_params("access_denied", "The user denied the request.")
        return super().denied_params()

    # Token endpoint

    def token_params(self, call: Call) -> dict[str, str]:
        """If the switch `client-id-in-body` is on, require the client id in the body even with a Basic header."""
        params = super().token_params(call)
        if self.on("client-id-in-body"):
            required(params, "client_id")
        return params

    def refreshable(self, request: AuthorizationRequest, *, first: bool) -> bool:
        """Return whether the request asks for offline access. Otherwise there is no refresh token."""
        return "offline.access" in request.scopes

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        """Return the members in X's order, without an id_token."""
        body = super().token_body(issued, id_token)
        order = ("token_type", "expires_in", "access_token", "scope", "refresh_token")
        return {name: body[name] for name in order if name in body} | {"token_type": "bearer"}

    def signs(self, scopes: Collection[str]) -> bool:
        """Return false, because X has no id_tokens."""
        return False

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """If the switch `unknown-client` is off, report an unknown client like a wrong secret."""
        if refusal.reason in {Reason.CLIENT_UNKNOWN, Reason.CLIENT_MISSING} and not self.on("unknown-client"):
            refusal = TokenRefused(Reason.CLIENT_SECRET, refusal.member)
        return super().token_refusal(call, refusal)

    def revoke(self, call: Call) -> Answer:
        """Revoke an access token and its refresh token. An unknown token counts as already revoked."""
        if issued := own_token(self, call):
            issued.revoked = True
        return self.token_answer(call, {"revoked": True} if self.on("revoked-body") else {})

    # User

    def user(self, call: Call) -> Answer:
        """The user endpoint. It needs both scopes. Members that the client may not read are omitted."""
        for scope in ("tweet.read", "users.read"):
            issued = self.bearer(call, scope)
        window = self.window(issued.grant.person_id)
        if self.on("rate-limit") and window.used >= PER_WINDOW:
            return problem(429, "Too Many Requests", self.rate_headers(window))
        window.used += 1
        asked = [field for field in call.query.get("user.fields", "").split(",") if field]
        if unknown := [field for field in asked if field not in FIELDS]:
            return unknown_fields(unknown, self.rate_headers(window))
        return json_answer(self.envelope(issued.grant, asked), headers=self.rate_headers(window))

    def envelope(self, grant: Grant, asked: list[str]) -> dict[str, Any]:
        """Return the user in `data`. With the switch `field-errors`, `errors` explains why a member is missing."""
        user = self.profile(grant)
        envelope: dict[str, Any] = {"data": {name: user[name] for name in (*GIVEN, *asked) if name in user}}
        if "confirmed_email" in asked and not self.may_read_email(grant) and self.on("field-errors"):
            envelope["errors"] = [unauthorized_field("confirmed_email", user["id"])]
        return envelope

    def profile(self, grant: Grant) -> dict[str, Any]:
        """Return everything about the user that the client may read. The picture's URL contains the size `_normal`."""
        person = self.person(grant)
        profile = {
            "id": self.subject(person, grant.client_id),
            "name": person.name or person.login,
            "username": person.login,
            "profile_image_url": f"{self.addresses.browser}/profile_images/{person.id}_normal.svg",
            "verified": False,
            "verified_type": "none",
            "protected": False,
            "created_at": "2013-09-04T08:00:00.000Z",
            "description": "",
            "public_metrics": {
                "followers_count": 7,
                "following_count": 11,
                "tweet_count": 13,
                "listed_count": 0,
                "like_count": 3,
                "media_count": 0,
            },
        }
        if self.may_read_email(grant) and person.email and person.email_verified:
            profile["confirmed_email"] = person.email
        return profile

    def may_read_email(self, grant: Grant) -> bool:
        """Return whether the scope was granted and the application has the permission to read the e-mail address."""
        client = self.world.clients.get(self.name, grant.client_id)
        return "users.email" in grant.scopes and client is not None and client.request_email

    def window(self, person_id: str) -> Window:
        window = self._windows.get(person_id)
        if window is None or window.ends <= self.now:
            window = Window(self.now + WINDOW)
            self._windows.put(person_id, window)
        return window

    def rate_headers(self, window: Window) -> Headers:
        """Return headers with the remaining requests of a period, and the time at which the next period begins."""
        return (
            ("x-rate-limit-limit", str(PER_WINDOW)),
            ("x-rate-limit-remaining", str(max(PER_WINDOW - window.used, 0))),
            ("x-rate-limit-reset", str(window.ends)),
        )

    def rate_limited(self, retry_after: int) -> Answer:
        """Return 429 with a problem document, and a header with the end of the 15-minute period."""
        headers = (
            ("x-rate-limit-limit", "75"),
            ("x-rate-limit-remaining", "0"),
            ("x-rate-limit-reset", str(self.now + retry_after)),
        )
        body = {"title": "Too Many Requests", "detail": "Too Many Requests", "type": "about:blank", "status": 429}
        return json_answer(body, 429, headers)

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """Return a problem document. The status is 403 for a missing scope, and 401 otherwise."""
        if refusal.problem is Problem.SCOPE:
            return problem(403, "Forbidden")
        return problem(401, "Unauthorized")

    def avatar(self, call: Call) -> Answer:
        """The endpoint of a person's picture.

        The suffix `_normal` means the normal size. Without a suffix, the picture has its full size.
        """
        return super().avatar(Call(call.method, call.path.replace("_normal.svg", ".svg")))

    # Formats

    def new_code(self) -> str:
        """Return base64 of three parts: random characters, the time in milliseconds, and `ac`."""
        return self._token("ac")

    def new_access_token(self) -> str:
        """Return a token in the format of a code, but with `at` instead of `ac`."""
        return self._token("at")

    def new_refresh_token(self) -> str:
        """Return a token in the format of a code, but with `rt` instead of `ac`."""
        return self._token("rt")

    def _token(self, kind: str) -> str:
        text = f"{self.alphanumeric(43)}:{int(self.world.clock() * 1000)}:1:1:{kind}:1"
        return urlsafe_b64encode(text.encode()).rstrip(b"=").decode()

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return a number of 13 digits. It is the same for every client."""
        return self.number(person, 13)


def problem(status: int, title: str, headers: Headers = ()) -> Answer:
    """Return a problem document that contains only the status and its title."""
    return problem_answer(status, {"title": title, "type": "about:blank", "status": status, "detail": title}, headers)


def problem_answer(status: int, body: Mapping[str, Any], headers: Headers) -> Answer:
    """Return a problem document with the content type of RFC 7807."""
    return Answer(status, msgspec.json.encode(body), (("content-type", "application/problem+json"), *headers))


def unknown_fields(unknown: list[str], headers: Headers) -> Answer:
    words = f"The `user.fields` query parameter value [{unknown[0]}] is not one of [{','.join(FIELDS)}]"
    body = {
        "errors": [{"parameters": {"user.fields": unknown}, "message": words}],
        "title": "Invalid Request",
        "detail": "One or more parameters to your request was invalid.",
        "type": f"{PROBLEMS}/invalid-request",
    }
    return problem_answer(400, body, headers)


def unauthorized_field(field: str, user_id: str) -> dict[str, str]:
    """Return the explanation why the client may not read a member."""
    return {
        "resource_type": "user",
        "resource_id": user_id,
        "parameter": "user.fields",
        "field": field,
        "section": "data",
        "title": "Field Authorization Error",
        "detail": f"Not authorized to access '{field}' on 'user' with id [{user_id}].",
        "type": f"{PROBLEMS}/not-authorized-for-field",
    }
