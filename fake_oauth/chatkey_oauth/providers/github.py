"""GitHub (OAuth app): responses have the format that `Accept` names, and form encoding by default.

Sources. Reset and check of tokens: docs.github.com/rest/apps/oauth-applications. Tokens that expire:
docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/refreshing-user-access-tokens.
Remaining rate limits: docs.github.com/rest/rate-limit/rate-limit, with an example response in
github.com/link-assistant/hive-mind/issues/1000.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import wraps
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from chatkey_lab.hosts import host_name, is_loopback
from chatkey_oauth.engine.addresses import is_redirect_uri
from chatkey_oauth.engine.call import Call, Handler
from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import NO_STORE, Answer, encode, json_answer, text_answer
from chatkey_oauth.engine.provider import Provider
from chatkey_oauth.engine.refusals import (
    CLIENT_REASONS,
    BearerRefused,
    Problem,
    Reason,
    Refusal,
    SentBack,
    ShownToPerson,
    TokenRefused,
    Words,
)
from chatkey_oauth.engine.routing import Route
from chatkey_oauth.engine.switches import Switch
from chatkey_oauth.engine.token import by_refresh_token, client_of, issue
from chatkey_oauth.engine.world import Lives
from chatkey_oauth.providers import github_api, github_graphql

if TYPE_CHECKING:
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest

DOCS = "https://docs.github.com"
REQUEST_ERRORS = f"{DOCS}/apps/managing-oauth-apps/troubleshooting-authorization-request-errors/#"
TOKEN_ERRORS = f"{DOCS}/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/#"
NO_USER_AGENT = (
    "Request forbidden by administrative rules. Please make sure your request has a User-Agent header "
    "(https://docs.github.com/en/rest/overview/resources-in-the-rest-api#user-agent-required). "
    "Check https://developer.github.com for other possible causes."
)
MISMATCH = "The redirect_uri MUST match the registered callback URL for this application."
EXPIRING = Lives(code=600, access=8 * 60 * 60, refresh=15897600)
"""The lifetimes of a GitHub App's tokens: eight hours, and half a year for refresh tokens.

They apply if the switch `expiring-tokens` is on.
"""
API_HOST = "api.github.com"
ENTERPRISE = "/api/v3"
"""The path of the API on GitHub Enterprise Server."""
ISSUER_PATH = "/login/oauth"
MAIL_SCOPES = ("user:email", "user")
ACCEPTED = "user, user:email"
NOT_FOUND = {"message": "Not Found", "documentation_url": f"{DOCS}/rest", "status": "404"}


class Imitated(Provider):
    """Imitates github.com and api.github.com. The API is also available under `/api/v3`, as on Enterprise Server."""

    name = "github"
    hosts = ("github.com", API_HOST)
    accent = ("#24292f", "#4b5563")
    ready_made = {
        "client_id": "Ov23liReadyMade00000",
        "client_secret": "c0ffee00" * 5,
    }
    scopes = {
        "read:user": "Your profile",
        "user": "Your profile, which the application may change",
        "user:email": "Your e-mail addresses",
    }
    scope_separator = ","
    default_scope = ""
    declinable = frozenset(scopes)
    hint = "login"
    response_type_required = False
    redirect_uri_required = False
    json_bodies = True
    grant_type_required = False
    refreshes = False
    numeric_subjects = True
    access_life = None
    code_shape = re.compile(r"[0-9a-f]{20}")
    words = {
        **say(Words(200, "bad_verification_code", "The code passed is incorrect or expired."), Reason),
        **say(
            Words(200, "incorrect_client_credentials", "The client_id and/or client_secret passed are incorrect."),
            CLIENT_REASONS,
        ),
        Reason.REDIRECT_URI: Words(200, "redirect_uri_mismatch", MISMATCH),
        Reason.GRANT_TYPE: Words(200, "unsupported_grant_type", "The grant_type passed is not supported."),
        Reason.REFRESH_TOKEN: Words(200, "bad_refresh_token", "The refresh token passed is incorrect or expired."),
        Reason.EMAIL_UNVERIFIED: Words(200, "unverified_user_email", "The user must have a verified primary email."),
    }
    open_to_pages = frozenset({Leg.PROFILE, Leg.REVOKE})
    switches = (
        Switch("iss", True, "The callback has `iss` (RFC 9207), which GitHub has sent since August 2026."),
        Switch("loopback-ports", True, "If a redirect URI is registered with a loopback address, any port is allowed."),
        Switch(
            "remember-approval",
            False,
            "A person who has already approved the same scopes is sent back without a page, like at the real GitHub.",
        ),
        Switch("token-by-get", False, "The token endpoint also answers GET."),
        Switch(
            "verified-email",
            False,
            "A person without a verified e-mail address gets the error `unverified_user_email` and no token.",
        ),
        Switch(
            "expiring-tokens",
            False,
            "Tokens are those of a GitHub App: `ghu_`, valid for eight hours, with a refresh token `ghr_`.",
        ),
        Switch(
            "suspended",
            False,
            "The application is suspended. The person is not asked, and the callback reports the suspension.",
        ),
    )

    def routes(self) -> dict[str, Route]:
        """Return the login endpoints, the API, and the metadata at both paths. There is no discovery document."""
        return {
            "GET /login/oauth/authorize": Route(Leg.AUTHORIZE, self.authorize),
            "GET POST /login/oauth/access_token": Route(Leg.TOKEN, self.token),
            "POST /login/device/code": Route(None, self.device),
            "GET /user": Route(Leg.PROFILE, self.api(self.user)),
            "GET /user/emails": Route(Leg.PROFILE, self.api(self.emails, ACCEPTED)),
            "POST /graphql": Route(Leg.PROFILE, self.api(self.graphql)),
            "POST /api/graphql": Route(Leg.PROFILE, self.api(self.graphql)),
            "GET /rate_limit": Route(None, self.api(self.rate_limit)),
            "POST /applications/{client_id}/token": Route(Leg.PROFILE, self.api(self.check_token)),
            "PATCH /applications/{client_id}/token": Route(Leg.PROFILE, self.api(self.reset_token)),
            "DELETE /applications/{client_id}/token": Route(Leg.REVOKE, self.api(self.delete_token)),
            "DELETE /applications/{client_id}/grant": Route(Leg.REVOKE, self.api(self.delete_token)),
            "GET /.well-known/oauth-authorization-server/login/oauth": Route(Leg.DISCOVERY, self.metadata),
            "GET /login/oauth/.well-known/openid-configuration": Route(Leg.DISCOVERY, self.metadata),
        }

    def canonical(self, path: str) -> str:
        """Map the path of the API on Enterprise Server, `/api/v3`, to the path on github.com."""
        return path.removeprefix(ENTERPRISE)

    def nothing(self, call: Call) -> Answer:
        """Answer an unknown path. If the host or the path belongs to the API, respond as the API does."""
        by_path = f"{call.path}/".startswith(f"{ENTERPRISE}/")
        if not by_path and host_name(call.headers.get("host", "")) != API_HOST:
            return super().nothing(call)
        return self.api(lambda _: json_answer(NOT_FOUND, 404))(call)

    @property
    def issuer(self) -> str:
        """The issuer, which always has the same path. An `issuer` setting may include or omit this path."""
        return f"{self.addresses.issuer.removesuffix(ISSUER_PATH)}{ISSUER_PATH}"

    def metadata(self, call: Call) -> Answer:
        """The authorization server's metadata (RFC 8414)."""
        browser, server, _ = self.addresses
        return json_answer(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{browser}/login/oauth/authorize",
                "token_endpoint": f"{server}/login/oauth/access_token",
                "device_authorization_endpoint": f"{server}/login/device/code",
                "response_types_supported": ["code"],
                "grant_types_supported": [
                    *("authorization_code", "refresh_token"),
                    "urn:ietf:params:oauth:grant-type:device_code",
                ],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": self.on("iss"),
                "scopes_supported": ["offline_access"],
                "service_documentation": f"{DOCS}/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps",
            }
        )

    # Authorization endpoint

    def client_refused(self, client_id: str | None) -> Refusal:
        """Refuse with GitHub's "not found" page."""
        return ShownToPerson(404, "Not Found", "No application has this client_id.")

    def redirect_allowed(self, client: Client, uri: str) -> bool:
        """Allow the registered URI, and any URI below its path."""
        ports = self.on("loopback-ports")
        return is_redirect_uri(uri) and any(
            uri == registered or lies_below(uri, registered, any_port=ports) for registered in client.redirect_uris
        )

    def redirect_refused(self, client: Client, call: Call) -> Refusal:
        """Redirect to the registered URI with an error, and never to the requested URI."""
        params = self.fault_params("redirect_uri_mismatch", MISMATCH)
        return SentBack(client.redirect_uris[0], self.callback(params, call.query))

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """If the switch `remember-approval` is on, show no page to people who have approved before."""
        remembered = self.on("remember-approval") and not self.asks_anew(request)
        return remembered or super().skips_consent(request)

    def check_request(self, request: AuthorizationRequest) -> None:
        """If the switch `suspended` is on, refuse every request as GitHub does for a suspended application."""
        if self.on("suspended"):
            params = self.fault_params("application_suspended", "Your application has been suspended.")
            raise SentBack(request.redirect_uri, self.callback(params, request.query))

    def fault_params(self, error: str, description: str) -> dict[str, str]:
        uri = REQUEST_ERRORS + error.replace("_", "-")
        return {"error": error, "error_description": description, "error_uri": uri}

    def denied_params(self) -> dict[str, str]:
        return self.fault_params("access_denied", "The user has denied your application access.")

    def callback_extras(self) -> dict[str, str]:
        """If the switch `iss` is on, add `iss` to approvals and errors."""
        return {"iss": self.issuer} if self.on("iss") else {}

    # Token endpoint

    def token(self, call: Call) -> Answer:
        """Answer POST. If the switch `token-by-get` is on, answer GET, too."""
        if call.method == "GET" and not self.on("token-by-get"):
            return Answer(405, headers=(("allow", "POST"),))
        return super().token(call)

    def token_params(self, call: Call) -> dict[str, str]:
        """Return the parameters from the form of a POST, or from the query of a GET."""
        return call.query if call.method == "GET" else super().token_params(call)

    def lives(self) -> Lives:
        """Return unlimited lifetimes. If the switch `expiring-tokens` is on, return those of GitHub Apps."""
        return EXPIRING if self.on("expiring-tokens") else super().lives()

    def refreshable(self, request: AuthorizationRequest, *, first: bool) -> bool:
        """Return whether the switch `expiring-tokens` is on. Only expiring tokens have refresh tokens."""
        return self.on("expiring-tokens")

    def other_grant(self, client: Client, params: Mapping[str, str]) -> Issued:
        """Exchange a refresh token if the switch `expiring-tokens` is on."""
        if params.get("grant_type") == "refresh_token" and self.on("expiring-tokens"):
            return by_refresh_token(self, client, params)
        return super().other_grant(client, params)

    def before_issue(self, grant: Grant) -> None:
        """If the switch `verified-email` is on, require a verified e-mail address."""
        person = self.person(grant)
        if self.on("verified-email") and not (person.email and person.email_verified):
            raise TokenRefused(Reason.EMAIL_UNVERIFIED)

    def device(self, call: Call) -> Answer:
        """Refuse to issue a device code, because new applications have the device flow disabled."""
        words = "Device Flow must be explicitly enabled for this App"
        return self.token_answer(
            call, {"error": "device_flow_disabled", "error_description": words, "error_uri": DOCS}, 400
        )

    def signs(self, scopes: Collection[str]) -> bool:
        """Return false, because GitHub has no id_tokens."""
        return False

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        """Return three members. If the switch `expiring-tokens` is on, return more."""
        scope = self.scope_separator.join(issued.grant.scopes)
        body: dict[str, Any] = {"access_token": issued.access, "token_type": "bearer", "scope": scope}
        if issued.refresh is None:
            return body
        return body | {
            "expires_in": EXPIRING.access,
            "refresh_token": issued.refresh,
            "refresh_token_expires_in": EXPIRING.refresh,
            "scope": "",
        }

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """Return an error with status 200 and a link to the documentation."""
        words = self.words_for(refusal.reason)
        body: dict[str, Any] = {
            "error": words.error,
            "error_description": words.description or "",
            "error_uri": TOKEN_ERRORS + words.error.replace("_", "-"),
        }
        return self.token_answer(call, body, words.status)

    def token_answer(self, call: Call, body: Mapping[str, Any], status: int = 200) -> Answer:
        """Encode the response as JSON or XML if `Accept` asks for that. Otherwise, encode it as a form."""
        accept = call.headers.get("accept", "")
        if "json" in accept:
            return json_answer(body, status, NO_STORE)
        if "xml" in accept:
            # GitHub's order, which happens to be reverse alphabetical.
            members = "".join(f"<{name}>{escape(str(body[name]))}</{name}>" for name in sorted(body, reverse=True))
            return encoded(f"<OAuth>{members}</OAuth>", "application/xml", status)
        return encoded(encode(body), "application/x-www-form-urlencoded", status)

    # API

    def api(self, handler: Handler, accepted: str = "") -> Handler:
        """Wrap an API endpoint, so that it requires a User-Agent.

        `accepted` lists the scopes that the endpoint accepts.
        """

        @wraps(handler)
        def answer(call: Call) -> Answer:
            if not call.headers.get("user-agent"):
                return text_answer(NO_USER_AGENT, 403)
            return self.with_headers(
                call, github_api.tagged(handler(call), call.headers.get("if-none-match")), accepted
            )

        return answer

    def with_headers(self, call: Call, answer: Answer, accepted: str = "") -> Answer:
        issued = self.grants.access.get(self.bearer_text(call) or "")
        request_id = self.hexadecimal(16).upper()
        headers = github_api.headers(issued.grant if issued else None, accepted, request_id, self.now)
        return msgspec.structs.replace(answer, headers=(*answer.headers, *headers))

    def refused(self, call: Call, refusal: Refusal) -> Answer:
        answer = super().refused(call, refusal)
        if not isinstance(refusal, BearerRefused):
            return answer
        return self.with_headers(call, answer, ACCEPTED if refusal.problem is Problem.SCOPE else "")

    def user(self, call: Call) -> Answer:
        return json_answer(self.profile(self.person(self.bearer(call).grant)))

    def profile(self, person: Person) -> dict[str, Any]:
        number = int(self.subject(person, ""))
        places = self.addresses._replace(server=self.at_host(API_HOST))
        return github_api.user(number, person, places, self.portrait(person))

    def graphql(self, call: Call) -> Answer:
        """The GraphQL endpoint, which answers the query `viewer`."""
        person = self.person(self.bearer(call).grant)
        return json_answer(github_graphql.answer(call.form.get("query", ""), self.profile(person)))

    def emails(self, call: Call) -> Answer:
        """The endpoint of the person's e-mail addresses. It needs one of the scopes in `MAIL_SCOPES`."""
        person = self.person(self.bearer(call, *MAIL_SCOPES).grant)
        return json_answer(github_api.addresses(self.subject(person, ""), person))

    def rate_limit(self, call: Call) -> Answer:
        """The endpoint of the remaining rate limits. The token is optional."""
        issued = self.any_bearer(call) if self.bearer_text(call) else None
        return json_answer(github_api.rates(issued.grant if issued else None, self.now))

    def rate_limited(self, retry_after: int) -> Answer:
        """Return 403. Only the message and the headers distinguish this response from other refusals."""
        headers = (
            ("x-ratelimit-limit", "5000"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", str(self.now + retry_after)),
            ("x-ratelimit-used", "5000"),
            ("x-ratelimit-resource", "core"),
        )
        docs = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"
        body = {"message": "API rate limit exceeded for user ID 1.", "documentation_url": docs, "status": "403"}
        return json_answer(body, 403, headers)

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """Report missing or bad credentials with 401, and a missing scope with 404."""
        if refusal.problem is Problem.SCOPE:
            docs = f"{DOCS}/rest/users/emails#list-email-addresses-for-the-authenticated-user"
            body = {"message": "Not Found", "documentation_url": docs, "status": "404"}
            return json_answer(body, 404)
        message = "Requires authentication" if refusal.problem is Problem.MISSING else "Bad credentials"
        return json_answer({"message": message, "documentation_url": f"{DOCS}/rest", "status": "401"}, 401)

    def check_token(self, call: Call) -> Answer:
        """The endpoint at which an application checks one of its tokens."""
        client, issued = self._own_token(call)
        if client is None or issued is None:
            return not_found(call)
        user = self.profile(self.person(issued.grant))
        return json_answer(github_api.authorization(issued, client, user, self.addresses))

    def reset_token(self, call: Call) -> Answer:
        """The endpoint that revokes one of the application's tokens and returns a new one."""
        client, issued = self._own_token(call)
        if client is None or issued is None:
            return not_found(call)
        issued.revoked = True
        fresh = issue(self, issued.grant, issued.refresh)
        self.grants.issue(fresh)
        user = self.profile(self.person(fresh.grant))
        return json_answer(github_api.authorization(fresh, client, user, self.addresses))

    def delete_token(self, call: Call) -> Answer:
        """The endpoint that revokes a token or, with `/grant`, the whole approval."""
        _, issued = self._own_token(call)
        if issued is None:
            return not_found(call)
        issued.revoked = True
        if call.path.endswith("/grant"):
            self.grants.withdraw(issued.grant)
        return Answer(204)

    def _own_token(self, call: Call) -> tuple[Client | None, Issued | None]:
        try:
            client = client_of(self, call, {})
        except TokenRefused:
            return None, None
        issued = self.grants.access.get(call.form.get("access_token", ""))
        named = self.canonical(call.path).split("/")[2]
        mine = issued is not None and not issued.is_revoked and issued.grant.client_id == client.client_id == named
        return client, issued if mine else None

    def new_code(self) -> str:
        return self.hexadecimal(20)

    def new_access_token(self) -> str:
        return ("ghu_" if self.on("expiring-tokens") else "gho_") + self.alphanumeric(36)

    def new_refresh_token(self) -> str:
        return "ghr_" + self.alphanumeric(76)

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return a number of 7 digits. It is the same for every client."""
        return self.number(person, 7)


def lies_below(uri: str, registered: str, *, any_port: bool) -> bool:
    """Return whether a redirect URI has the scheme and host of `registered`, and the same path or a path below it."""
    asked, own = urlsplit(uri), urlsplit(registered)
    loopback = any_port and is_loopback(own.hostname or "")
    here, there = ((at.hostname if loopback else at.netloc) for at in (asked, own))
    steps = asked.path.replace("%2e", ".").replace("%2E", ".").split("/")
    if (asked.scheme, here) != (own.scheme, there) or ".." in steps:
        return False
    return f"{asked.path.rstrip('/')}/".startswith(f"{own.path.rstrip('/')}/") and (loopback or asked.path != own.path)


def not_found(call: Call) -> Answer:
    """Return 404 for an unknown token or a token of another application. If the request has no token, return 422."""
    if call.form.get("access_token"):
        return json_answer(NOT_FOUND, 404)
    return json_answer(NOT_FOUND | {"message": "Validation Failed", "status": "422"}, 422)


def encoded(text: str, content_type: str, status: int) -> Answer:
    """Return a response with text in an encoding other than JSON."""
    return Answer(status, text.encode(), (("content-type", f"{content_type}; charset=utf-8"), *NO_STORE))
