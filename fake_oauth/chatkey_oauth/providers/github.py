"""GitHub (OAuth app): answers in the encoding `Accept` asks for, form-encoded by default, and errors with 200."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chatkey_oauth.engine.http import NO_STORE, Answer, Call, Handler, encode, json_answer, text_answer
from chatkey_oauth.engine.provider import Provider, say
from chatkey_oauth.engine.refusals import (
    CLIENT_REASONS,
    BearerRefused,
    Problem,
    Reason,
    SentBack,
    ShownToPerson,
    TokenRefused,
    Words,
)
from chatkey_oauth.engine.token import client_of

if TYPE_CHECKING:
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.grants import Issued
    from chatkey_oauth.engine.people import Person

DOCS = "https://docs.github.com"
REQUEST_ERRORS = f"{DOCS}/apps/managing-oauth-apps/troubleshooting-authorization-request-errors/#"
TOKEN_ERRORS = f"{DOCS}/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/#"
NO_USER_AGENT = (
    "Request forbidden by administrative rules. Please make sure your request has a User-Agent header "
    "(https://docs.github.com/en/rest/overview/resources-in-the-rest-api#user-agent-required). "
    "Check https://developer.github.com for other possible causes."
)
MISMATCH = "The redirect_uri MUST match the registered callback URL for this application."
MAIL_SCOPES = ("user:email", "user")


class Imitated(Provider):
    """github.com and api.github.com, with the API also under `/api/v3` as Enterprise Server has it."""

    name = "github"
    label = "GitHub"
    accent = ("#24292f", "#4b5563")
    scopes = {
        "read:user": "Your profile",
        "user": "Your profile, which the application may change",
        "user:email": "Your e-mail addresses",
    }
    scope_separator = ","
    default_scope = ""
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
    }

    def routes(self) -> dict[str, Handler]:
        """The login endpoints, the API, and metadata at both of its places. The root has no discovery document."""
        return {
            "GET /login/oauth/authorize": self.authorize,
            "POST /login/oauth/access_token": self.token,
            "GET /user": self.user,
            "GET /user/emails": self.emails,
            "POST /applications/{client_id}/token": self.check_token,
            "DELETE /applications/{client_id}/token": self.delete_token,
            "DELETE /applications/{client_id}/grant": self.delete_token,
            "GET /.well-known/oauth-authorization-server/login/oauth": self.metadata,
            "GET /login/oauth/.well-known/openid-configuration": self.metadata,
        }

    def canonical(self, path: str) -> str:
        """The API as Enterprise Server has it."""
        return path.removeprefix("/api/v3")

    @property
    def issuer(self) -> str:
        """The issuer has a path of its own."""
        return f"{self.addresses.issuer}/login/oauth"

    def metadata(self, call: Call) -> Answer:
        """The authorization server's metadata."""
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
                "authorization_response_iss_parameter_supported": True,
                "scopes_supported": ["offline_access"],
                "service_documentation": f"{DOCS}/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps",
            }
        )

    # Authorization endpoint

    def client_refused(self, client_id: str | None) -> Exception:
        """GitHub's 404 page."""
        return ShownToPerson(404, "Not Found", "There is no application with this client_id.")

    def redirect_allowed(self, client: Client, uri: str) -> bool:
        """The registered address or anything below its path."""
        return any(uri == registered or lies_below(uri, registered) for registered in client.redirect_uris)

    def redirect_refused(self, client: Client, call: Call) -> Exception:
        """Reported to the registered address, never to the one asked for."""
        state = {"state": call.query["state"]} if "state" in call.query else {}
        params = self.fault_params("redirect_uri_mismatch", MISMATCH)
        return SentBack(client.redirect_uris[0], params | state | self.callback_extras())

    def fault_params(self, error: str, description: str) -> dict[str, str]:
        """With a link to the documentation."""
        uri = REQUEST_ERRORS + error.replace("_", "-")
        return {"error": error, "error_description": description, "error_uri": uri}

    def denied_params(self) -> dict[str, str]:
        """The person's refusal, in GitHub's words."""
        return self.fault_params("access_denied", "The user has denied your application access.")

    def callback_extras(self) -> dict[str, str]:
        """`iss` on success and on error."""
        return {"iss": self.issuer}

    # Token endpoint

    def token_body(self, issued: Issued) -> dict[str, Any]:
        """Three members; the token does not expire."""
        scope = self.scope_separator.join(issued.grant.scopes)
        return {"access_token": issued.access, "token_type": "bearer", "scope": scope}

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """With status 200 and a link to the documentation."""
        words = self.words[refusal.reason]
        body = {
            "error": words.error,
            "error_description": words.description or "",
            "error_uri": TOKEN_ERRORS + words.error.replace("_", "-"),
        }
        return self.token_answer(call, body, words.status)

    def token_answer(self, call: Call, body: Mapping[str, Any], status: int = 200) -> Answer:
        """JSON or XML for those who ask for it, form encoding for the rest."""
        accept = call.headers.get("accept", "")
        if "json" in accept:
            return json_answer(body, status, NO_STORE)
        if "xml" in accept:
            members = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in body.items())
            return encoded(f"<OAuth>{members}</OAuth>", "application/xml", status)
        return encoded(encode(body), "application/x-www-form-urlencoded", status)

    # API

    def api(self, call: Call, data: Any, status: int = 200, *, accepted: str = "") -> Answer:
        """An answer of the API with its usual headers; `accepted` names the scopes that would do."""
        issued = self.grants.access.get(self._bearer_text(call) or "")
        granted = issued.grant if issued else None
        headers = (
            ("x-oauth-scopes", ", ".join(granted.scopes) if granted else ""),
            ("x-accepted-oauth-scopes", accepted),
            ("x-oauth-client-id", granted.client_id if granted else ""),
            ("x-github-media-type", "github.v3; format=json"),
            ("x-github-request-id", self.hexadecimal(16).upper()),
            ("x-ratelimit-limit", "5000"),
            ("x-ratelimit-remaining", "4999"),
            ("x-ratelimit-reset", str(self.now + 3600)),
            ("x-ratelimit-used", "1"),
            ("x-ratelimit-resource", "core"),
        )
        return json_answer(data, status, headers)

    def user(self, call: Call) -> Answer:
        """The profile. `email` is the public address, which nobody here has."""
        if not call.headers.get("user-agent"):
            return text_answer(NO_USER_AGENT, 403)
        return self.api(call, self.profile(self.person(self.bearer(call).grant)))

    def profile(self, person: Person) -> dict[str, Any]:
        """The authenticated user's profile; `id` is a number."""
        subject = int(self.subject(person, ""))
        site, api = self.addresses.browser, f"{self.addresses.server}/users/{person.login}"
        return {
            "login": person.login,
            "id": subject,
            "node_id": b64encode(f"04:User{subject}".encode()).decode(),
            "avatar_url": self.picture(person) or f"{site}/avatars/{person.id}.svg",
            "gravatar_id": "",
            "url": api,
            "html_url": f"{site}/{person.login}",
            "followers_url": f"{api}/followers",
            "following_url": f"{api}/following{{/other_user}}",
            "gists_url": f"{api}/gists{{/gist_id}}",
            "starred_url": f"{api}/starred{{/owner}}{{/repo}}",
            "subscriptions_url": f"{api}/subscriptions",
            "organizations_url": f"{api}/orgs",
            "repos_url": f"{api}/repos",
            "events_url": f"{api}/events{{/privacy}}",
            "received_events_url": f"{api}/received_events",
            "type": "User",
            "user_view_type": "private",
            "site_admin": False,
            "name": person.name,
            "company": None,
            "blog": "",
            "location": None,
            "email": None,
            "hireable": None,
            "bio": None,
            "twitter_username": None,
            "notification_email": None,
            "public_repos": 3,
            "public_gists": 0,
            "followers": 2,
            "following": 1,
            "created_at": "2014-11-15T13:01:25Z",
            "updated_at": datetime.fromtimestamp(self.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

    def emails(self, call: Call) -> Answer:
        """The person's addresses: their own, if they have one, and the one GitHub gives everybody."""
        if not call.headers.get("user-agent"):
            return text_answer(NO_USER_AGENT, 403)
        person = self.person(self.bearer(call, *MAIL_SCOPES).grant)
        given = f"{self.subject(person, '')}+{person.login}@users.noreply.github.com"
        rows: list[dict[str, Any]] = [{"email": given, "primary": False, "verified": True, "visibility": None}]
        if person.email:
            own = {"email": person.email, "primary": True, "verified": person.email_verified, "visibility": "private"}
            rows.insert(0, own)
        return self.api(call, rows, accepted=", ".join(reversed(MAIL_SCOPES)))

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """Bad credentials; a missing scope looks like a missing page."""
        if refusal.problem is Problem.SCOPE:
            docs = f"{DOCS}/rest/users/emails#list-email-addresses-for-the-authenticated-user"
            body = {"message": "Not Found", "documentation_url": docs, "status": "404"}
            return json_answer(body, 404, (("x-accepted-oauth-scopes", ", ".join(reversed(MAIL_SCOPES))),))
        return json_answer({"message": "Bad credentials", "documentation_url": f"{DOCS}/rest", "status": "401"}, 401)

    def check_token(self, call: Call) -> Answer:
        """Tell the application what one of its tokens is worth."""
        client, issued = self._own_token(call)
        if client is None or issued is None:
            return json_answer({"message": "Not Found", "documentation_url": f"{DOCS}/rest", "status": "404"}, 404)
        app = {"client_id": client.client_id, "name": client.title, "url": client.redirect_uris[0]}
        user = self.profile(self.person(issued.grant))
        return json_answer({"token": issued.access, "scopes": list(issued.grant.scopes), "app": app, "user": user})

    def delete_token(self, call: Call) -> Answer:
        """Take a token, or the whole approval, back."""
        _, issued = self._own_token(call)
        if issued is None:
            return json_answer({"message": "Not Found", "documentation_url": f"{DOCS}/rest", "status": "404"}, 404)
        issued.revoked = True
        issued.grant.revoked = issued.grant.revoked or call.path.endswith("/grant")
        return Answer(204)

    def _own_token(self, call: Call) -> tuple[Client | None, Issued | None]:
        try:
            client = client_of(self, call, {})
        except TokenRefused:
            return None, None
        issued = self.grants.access.get(call.form.get("access_token", ""))
        mine = issued is not None and not issued.is_revoked and issued.grant.client_id == client.client_id
        return client, issued if mine else None

    def new_code(self) -> str:
        """20 hexadecimal digits."""
        return self.hexadecimal(20)

    def new_access_token(self) -> str:
        """`gho_` and 36 letters and digits."""
        return "gho_" + self.alphanumeric(36)

    def derived_subject(self, person: Person, client_id: str) -> str:
        """7 digits, the same for every client."""
        return self.number(person, 7)


def lies_below(uri: str, registered: str) -> bool:
    """Tell whether a URI has the same scheme, host and port, and a path below the registered one."""
    asked, own = urlsplit(uri), urlsplit(registered)
    same_place = (asked.scheme, asked.netloc) == (own.scheme, own.netloc) and "#" not in uri
    steps = re.split(r"[/\\]", asked.path.replace("%2e", ".").replace("%2E", "."))
    return same_place and ".." not in steps and asked.path.startswith(own.path.rstrip("/") + "/")


def encoded(text: str, content_type: str, status: int) -> Answer:
    """Text in an encoding other than JSON."""
    return Answer(status, text.encode(), (("content-type", f"{content_type}; charset=utf-8"), *NO_STORE))
