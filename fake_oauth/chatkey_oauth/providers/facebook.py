"""Facebook: Graph API versions in every path, errors as objects, and a token endpoint that accepts GET.

Sources:

- The error for a missing client id: github.com/facebookarchive/php-graph-sdk/issues/50,
  github.com/nov/fb_graph/issues/204.
- Clients use the host without www, too: github.com/fastify/fastify-oauth2 `index.js`.
- The profile has the id, even if the request does not name it: github.com/laravel/socialite FacebookProvider.php,
  github.com/puneetkay/Facebook-PHP-CodeIgniter/issues/14.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import NO_STORE, Answer, Headers, json_answer
from chatkey_oauth.engine.provider import Provider
from chatkey_oauth.engine.refusals import (
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
from chatkey_oauth.engine.text import same
from chatkey_oauth.engine.token import issue, required

if TYPE_CHECKING:
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest

NEWEST = "v24.0"
VERSION = re.compile(r"^/v\d+(\.\d+)?(?=/)")
UNSURE = ("36007", "36008")
FIELD = re.compile(r"(\w+)((?:\.\w+\([^)]{0,40}\)|\{[^}]{0,40}\})*)")
SIZE = re.compile(r"\.(width|height)\((\d{1,4})\)")
NO_REDIRECT_URI = (
    "Error validating verification code. Please make sure your redirect_uri is identical to the one you used in the "
    "OAuth dialog request"
)


class Imitated(Provider):
    """Imitates www.facebook.com (also without www), graph.facebook.com and limited.facebook.com."""

    name = "facebook"
    hosts = ("www.facebook.com", "facebook.com", "graph.facebook.com", "limited.facebook.com")
    accent = ("#0a5fdc", "#256fe3")
    ready_made = {
        "client_id": "1234567890123456",
        "client_secret": "c0ffee00" * 4,
    }
    scopes = {"public_profile": "Your name and picture", "email": "Your e-mail address", "openid": "Your id"}
    scope_separator = ","
    default_scope = "public_profile"
    declinable = frozenset({"email"})
    response_type_required = False
    fragment = "#_=_"
    query_tokens = True
    grant_type_required = False
    refreshes = False
    access_life = 5183999
    code_shape = re.compile(r"AQ[\w-]+")
    words = {
        Reason.CLIENT_UNKNOWN: Words(400, "101", "Error validating application. Cannot get application info."),
        **say(Words(400, "1", "Error validating client secret."), (Reason.SECRET_MISSING, Reason.CLIENT_SECRET)),
        Reason.PARAMETER_MISSING: Words(400, "100", "Missing {member} parameter."),
        **say(Words(400, "101", "Missing client_id parameter."), (Reason.CLIENT_MISSING, Reason.CONTENT_TYPE)),
        Reason.GRANT_TYPE: Words(400, "100", "Unsupported grant_type."),
        **say(Words(400, "100", "Invalid verification code format."), CODE_REASONS),
        Reason.CODE_USED: Words(400, "100/36009", "This authorization code has been used."),
        Reason.CODE_EXPIRED: Words(400, "100/36007", "This authorization code has expired."),
        Reason.REDIRECT_URI: Words(400, "100/36008", NO_REDIRECT_URI),
        **say(Words(400, "100", "Invalid code_verifier parameter."), VERIFIER_REASONS),
    }
    """The wording of refusals.

    `error` has the code of the error object. If there is a subcode, a slash and the subcode follow.
    """
    open_to_pages = frozenset({Leg.TOKEN, Leg.PROFILE, Leg.REVOKE})
    switches = (
        Switch("granted-scopes", True, "With `return_scopes=true` the callback lists the granted and declined scopes."),
        Switch(
            "subcodes",
            True,
            "The error for an expired code has the subcode 36007, and for a different redirect URI 36008.",
        ),
        Switch("require-proof", False, "Graph calls without `appsecret_proof` are refused."),
        Switch("missing-token-401", False, "A Graph call without a token is refused with 401 instead of 400."),
        Switch("graph-headers", True, "Graph responses have `facebook-api-version` and `X-App-Usage`."),
    )

    def routes(self) -> dict[str, Route]:
        """Return the login dialog, the Graph endpoints, and the keys of Limited Login."""
        return {
            "GET /dialog/oauth": Route(Leg.AUTHORIZE, self.authorize),
            "GET POST /oauth/access_token": Route(Leg.TOKEN, self.token),
            "GET /me": Route(Leg.PROFILE, self.me),
            "GET /debug_token": Route(Leg.PROFILE, self.debug_token),
            "DELETE /{user}/permissions": Route(Leg.REVOKE, self.remove_permissions),
            "GET /.well-known/openid-configuration": Route(Leg.DISCOVERY, self.discovery),
            "GET /.well-known/oauth/openid/jwks": Route(Leg.KEYS, self.jwks),
        }

    def canonical(self, path: str) -> str:
        """Remove the Graph version and a trailing slash."""
        return VERSION.sub("", path).rstrip("/")

    def discovery(self, call: Call) -> Answer:
        """The discovery document of Limited Login."""
        browser, server, issuer = self.addresses
        return json_answer(
            {
                "issuer": issuer,
                "authorization_endpoint": f"{browser}/dialog/oauth",
                "jwks_uri": f"{server}/.well-known/oauth/openid/jwks/",
                "response_types_supported": ["id_token", "token id_token"],
                "subject_types_supported": ["pairwise"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "claims_supported": [
                    *("iss", "aud", "sub", "iat", "exp", "jti", "nonce", "at_hash"),
                    *("name", "given_name", "family_name", "email", "picture"),
                ],
            }
        )

    def client_refused(self, client_id: str | None) -> Refusal:
        return ShownToPerson(400, "Invalid App ID", "The provided app ID does not look like a valid app ID.")

    def redirect_refused(self, client: Client, call: Call) -> Refusal:
        text = "This redirect failed because the redirect URI is not white-listed in the app's client OAuth settings."
        return ShownToPerson(400, "URL blocked", text)

    def fault_params(self, error: str, description: str) -> dict[str, str]:
        """Report an invalid request in two parameters, neither of which has the name `error`."""
        return {"error_code": "100", "error_message": description}

    def denied_params(self) -> dict[str, str]:
        return {
            "error": "access_denied",
            "error_code": "200",
            "error_description": "Permissions error",
            "error_reason": "user_denied",
        }

    def granted_scopes(self, request: AuthorizationRequest, person: Person, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """Add `public_profile`.

        Remove scopes that the person has declined before, unless the request has `auth_type=rerequest`.
        """
        before = self.grants.consented(request.client.client_id, person.id)
        declined = before.declined if before and request.query.get("auth_type") != "rerequest" else ()
        asked = dict.fromkeys((*scopes, "public_profile"))
        return tuple(scope for scope in asked if scope not in declined)

    def token_params(self, call: Call) -> dict[str, str]:
        """Return the parameters from both query and form. The form has priority."""
        return call.query | super().token_params(call)

    def other_grant(self, client: Client, params: Mapping[str, str]) -> Issued:
        """Handle `fb_exchange_token`: return a new token for a token that is neither revoked nor expired."""
        if params.get("grant_type") != "fb_exchange_token":
            raise TokenRefused(Reason.GRANT_TYPE, "grant_type")
        issued = self.grants.access.get(required(params, "fb_exchange_token"))
        if issued is None or issued.is_revoked or issued.grant.client_id != client.client_id:
            raise TokenRefused(Reason.CODE_UNKNOWN, "fb_exchange_token")
        if issued.expires_at is not None and issued.expires_at <= self.now:
            raise BearerRefused(Problem.EXPIRED)
        return issue(self, issued.grant, None)

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        body = super().token_body(issued, id_token) | {"token_type": "bearer"}
        return {name: value for name, value in body.items() if name != "scope"}

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """Return an error object instead of the two members of OAuth."""
        words = self.words_for(refusal.reason)
        code, _, subcode = words.error.partition("/")
        message = (words.description or "").replace("{member}", refusal.member)
        if subcode in UNSURE and not self.on("subcodes"):
            subcode = ""
        return self.graph_error(message, int(code), int(subcode) if subcode else None)

    def graph_error(
        self, message: str, code: int, subcode: int | None = None, *, kind: str = "OAuthException", status: int = 400
    ) -> Answer:
        error: dict[str, Any] = {"message": message, "type": kind, "code": code}
        if subcode is not None:
            error["error_subcode"] = subcode
        error["fbtrace_id"] = "A" + self.alphanumeric(22)
        challenge = f'OAuth "Facebook Platform" "invalid_code" "{message}"'
        return graph_json({"error": error}, status, (("www-authenticate", challenge), *NO_STORE))

    def rate_limited(self, retry_after: int) -> Answer:
        """Return error code 4 with status 400, and a header with the used quota."""
        del retry_after
        error = {
            "message": "(#4) Application request limit reached",
            "type": "OAuthException",
            "code": 4,
            "fbtrace_id": "A" + self.alphanumeric(22),
        }
        usage = '{"call_count":100,"total_cputime":25,"total_time":25}'
        return json_answer({"error": error}, 400, (("x-app-usage", usage),))

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """Return code 190 with the problem of the token. For a missing token, return code 2500."""
        if refusal.problem is Problem.MISSING:
            message = "An active access token must be used to query information about the current user."
            return self.graph_error(message, 2500, status=401 if self.on("missing-token-401") else 400)
        if refusal.problem is Problem.EXPIRED:
            now = datetime.fromtimestamp(self.now, UTC).strftime("%A, %d-%b-%y %H:%M:%S UTC")
            message = f"Error validating access token: Session has expired on {now}. The current time is {now}."
            return self.graph_error(message, 190, 463)
        if refusal.problem is Problem.REVOKED:
            message = "Error validating access token: The user has not authorized application."
            return self.graph_error(message, 190, 458)
        return self.graph_error("Invalid OAuth access token - Cannot parse access token", 190)

    def me(self, call: Call) -> Answer:
        """The profile endpoint. It returns the requested fields and the id, and omits fields without a value."""
        issued = self.bearer(call)
        if refusal := self._proof_refused(call, issued):
            return refusal
        profile = self.profile(issued)
        silhouette = not self.person(issued.grant).picture
        asked = {**dict(FIELD.findall(call.query.get("fields", "id,name"))), "id": ""}
        if "picture" in asked:
            profile["picture"] = picture_of(profile["picture"], asked["picture"], silhouette=silhouette)
        return graph_json(
            {name: profile[name] for name in asked if profile.get(name) is not None}, headers=self.graph_headers(call)
        )

    def _proof_refused(self, call: Call, issued: Issued) -> Answer | None:
        proof = call.query.get("appsecret_proof")
        client = self.world.clients.get(self.name, issued.grant.client_id)
        if proof is None and self.on("require-proof"):
            message = "API calls from the server require an appsecret_proof argument"
            return self.graph_error(message, 100, kind="GraphMethodException")
        if proof is None or client is None or client.any_secret:
            return None
        expected = hmac.new(client.client_secret.encode(), issued.access.encode(), sha256).hexdigest()
        if same(expected, proof):
            return None
        return self.graph_error("Invalid appsecret_proof provided in the API argument", 100)

    def graph_headers(self, call: Call) -> Headers:
        """Return headers with the Graph version and the app's used quota."""
        if not self.on("graph-headers"):
            return ()
        version = VERSION.match(call.path)
        usage = '{"call_count":1,"total_cputime":1,"total_time":1}'
        return (("facebook-api-version", version[0][1:] if version else NEWEST), ("x-app-usage", usage))

    def profile(self, issued: Issued) -> dict[str, Any]:
        """Return all fields. `email` is None without the scope, without an address, or for an unconfirmed address."""
        grant = issued.grant
        person = self.person(grant)
        mail = person.email if "email" in grant.scopes and person.email_verified else None
        return {
            "id": self.subject(person, grant.client_id),
            "name": person.name,
            "first_name": person.given_name,
            "last_name": person.family_name,
            "email": mail,
            "picture": self.portrait(person),
        }

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """Return the profile with the claim names of OpenID Connect. The claims are valid for one hour."""
        profile = self.profile(issued)
        claims = {
            "aud": issued.grant.client_id,
            "sub": profile["id"],
            "iat": issued.issued_at,
            "exp": issued.issued_at + 3600,
            "jti": self.alphanumeric(12),
            "name": profile["name"],
            "given_name": profile["first_name"],
            "family_name": profile["last_name"],
            "email": profile["email"],
            "picture": profile["picture"],
        }
        return {name: value for name, value in claims.items() if value is not None}

    def debug_token(self, call: Call) -> Answer:
        """The endpoint that describes a token to an app. The app authenticates with `APP_ID|SECRET`."""
        app_id, _, secret = call.query.get("access_token", "").partition("|")
        client = self.world.clients.get(self.name, app_id)
        if client is None or not self.proves(client, secret):
            return self.graph_error("Invalid OAuth access token - Cannot parse access token", 190)
        issued = self.grants.access.get(call.query.get("input_token", ""))
        if issued is None or issued.grant.client_id != app_id:
            return graph_json({"data": {"is_valid": False, "scopes": []}})
        return graph_json({"data": self._debug_data(client, issued)})

    def _debug_data(self, client: Client, issued: Issued) -> dict[str, Any]:
        ends = issued.expires_at or 0
        return {
            "app_id": client.client_id,
            "type": "USER",
            "application": client.title,
            "expires_at": ends,
            "is_valid": ends > self.now and not issued.is_revoked,
            "scopes": list(issued.grant.scopes),
            "user_id": self.subject(self.person(issued.grant), client.client_id),
        }

    def remove_permissions(self, call: Call) -> Answer:
        """The endpoint that withdraws everything that the token's person has allowed the app."""
        grant = self.bearer(call).grant
        who = self.canonical(call.path).split("/")[1]
        if who not in {"me", self.subject(self.person(grant), grant.client_id)}:
            return self.graph_error("Unsupported delete request.", 100, 33, kind="GraphMethodException")
        self.grants.withdraw(grant)
        return graph_json({"success": True})

    def approved_params(self, request: AuthorizationRequest, grant: Grant, *, first: bool) -> dict[str, str]:
        """If the request has `return_scopes`, add the granted and the declined scopes."""
        if request.query.get("return_scopes") != "true" or not self.on("granted-scopes"):
            return {}
        granted = frozenset(grant.scopes)
        declined = [scope for scope in request.scopes if scope not in granted]
        return {"granted_scopes": ",".join(grant.scopes), "denied_scopes": ",".join(declined)}

    def new_code(self) -> str:
        return "AQ" + self.alphanumeric(180)

    def new_access_token(self) -> str:
        return f"EAAG{self.alphanumeric(120)}ZDZD"

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return a number of 17 digits. It is different for every app."""
        return self.number(person, 17, client_id)


def picture_of(url: str, options: str, *, silhouette: bool) -> dict[str, Any]:
    """Return the picture object in the requested size. A person without a picture has a silhouette."""
    size = {name: int(pixels) for name, pixels in SIZE.findall(options)}
    width = size.get("width", 200 if "large" in options else 50)
    return {"data": {"height": size.get("height", width), "is_silhouette": silhouette, "width": width, "url": url}}


def graph_json(data: Any, status: int = 200, headers: Headers = ()) -> Answer:
    """Return JSON in Facebook's format: ASCII, with escaped slashes and at signs."""
    text = json.dumps(data, separators=(",", ":")).replace("/", "\\/").replace("@", "\\u0040")
    return Answer(status, text.encode(), (("content-type", "application/json; charset=UTF-8"), *headers))
