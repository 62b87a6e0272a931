"""Microsoft (Entra ID, v2.0): an issuer per tenant, subjects per application, and errors with AADSTS numbers.

Sources. The .md files are in github.com/MicrosoftDocs/entra-docs, below docs/identity-platform. MSAL is
github.com/AzureAD/microsoft-authentication-library-for-python.

- OpenID Connect: v2-protocols-oidc.md.
- Responses and errors of the token endpoint, and refresh tokens: v2-oauth2-auth-code-flow.md.
- The token endpoint issues id_tokens without `at_hash`: id-token-claims-reference.md.
- Tokens for the application itself: v2-oauth2-client-creds-grant-flow.md.
- The names of the cloud, and `client_info`: MSAL `msal/authority.py`, `msal/application.py`.
- Sessions and logout: v2-protocols-oidc.md, "Send a sign-out request" and "Single sign-out".
- Superfluous slashes are ignored: MSAL `msal/authority.py`, and github.com/seanfisher/passport-microsoft
  `lib/strategy.js`.
- The response does not contain `offline_access`, even if it was requested:
  github.com/requests/requests-oauthlib/issues/507, github.com/oauthlib/oauthlib/issues/562.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from chatkey_oauth.engine import logout
from chatkey_oauth.engine.advice import advised, forgotten_scope
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.credentials import basic_pairs, body_pairs
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import NO_STORE, Answer, json_answer
from chatkey_oauth.engine.provider import Provider
from chatkey_oauth.engine.refusals import BearerRefused, Problem, Reason, Refusal, ShownToPerson, TokenRefused
from chatkey_oauth.engine.routing import Route
from chatkey_oauth.engine.text import base64url, clean, fingerprint
from chatkey_oauth.engine.token import CLIENT_CREDENTIALS
from chatkey_oauth.providers import microsoft_graph
from chatkey_oauth.providers.microsoft_errors import (
    DECLINED,
    NO_CONSENT,
    NOBODY_SIGNED_IN,
    NOT_IN_BODY,
    PAGE_CLIENT,
    PAGE_HEADING,
    PAGE_PERSONAL,
    PAGE_REDIRECT,
    WORDS,
)
from chatkey_oauth.providers.microsoft_graph import EVERYTHING, OFFLINE, READS_ME, resource_scopes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest

CONSUMERS: Final = "9188040d-6c67-4c5b-b112-36a304b66dad"
"""The tenant of all personal accounts."""

WITH_PERSONAL: Final = ("common", "consumers", CONSUMERS, "consent")
"""The names in the path that allow personal accounts. `consent` is the path of a form without a tenant."""

OF_NO_TENANT: Final = ("common", "organizations")
"""Names in the path that stand for any tenant. The discovery document then has a placeholder for the tenant."""


class Imitated(Provider):
    """Imitates login.microsoftonline.com and graph.microsoft.com."""

    name = "microsoft"
    hosts = ("login.microsoftonline.com", "graph.microsoft.com")
    accent = ("#0b5ea8", "#2a6fb5")
    ready_made = {
        "client_id": "c0ffee00-c0ff-4e00-8c0f-fee00c0ffee0",
        "client_secret": "rdy8Q~made-for-tests-only-0000000000000",
    }
    scopes = {
        "openid": "Your id at Microsoft",
        "profile": "Your name and picture",
        "email": "Your e-mail address",
        "offline_access": "Access to the data that you have shared, at any time",
        "User.Read": "Your profile",
    }
    challenge_methods = ("S256", "plain")
    response_modes = ("query", "fragment", "form_post")
    error_heading = PAGE_HEADING
    rotates = False
    renews = True
    knows_machines = True
    keeps_sessions = True
    access_life = 3599
    hashes_access_token = False
    words = WORDS
    open_to_pages = frozenset({Leg.DISCOVERY, Leg.KEYS, Leg.TOKEN, Leg.PROFILE})

    @property
    def label(self) -> str:
        """The name that people see.

        The chat service does not offer Microsoft, so its table does not contain this name.
        """
        return "Microsoft"

    def routes(self) -> dict[str, Route]:
        """Return the endpoints of all tenants, and those of Graph."""
        return {
            "GET /{tenant}/v2.0/.well-known/openid-configuration": Route(Leg.DISCOVERY, self.discovery),
            "GET /{tenant}/discovery/instance": Route(Leg.DISCOVERY, self.instance),
            "GET /{tenant}/oauth2/v2.0/authorize": Route(Leg.AUTHORIZE, self.authorize),
            "POST /{tenant}/oauth2/v2.0/token": Route(Leg.TOKEN, self.token),
            "GET /{tenant}/discovery/v2.0/keys": Route(Leg.KEYS, self.jwks),
            "GET POST /{tenant}/oauth2/v2.0/logout": Route(None, self.logout),
            "POST /{tenant}/consent": Route(Leg.CONSENT, self.consent),
            "GET POST /oidc/userinfo": Route(Leg.PROFILE, self.userinfo),
            "GET /v1.0/me": Route(Leg.PROFILE, self.me),
        }

    def canonical(self, path: str) -> str:
        """Remove superfluous slashes, in the middle and at the end."""
        return "/" + "/".join(filter(None, path.split("/")))

    def discovery(self, call: Call) -> Answer:
        """The discovery document of a tenant. If the path stands for any tenant, the issuer has a placeholder."""
        browser, server, _ = self.addresses
        asked = tenant_of(call)
        tenant = "{tenantid}" if asked in OF_NO_TENANT else CONSUMERS if asked == "consumers" else asked
        return json_answer(
            {
                "token_endpoint": f"{server}/{asked}/oauth2/v2.0/token",
                "token_endpoint_auth_methods_supported": [
                    *("client_secret_post", "private_key_jwt", "client_secret_basic")
                ],
                "jwks_uri": f"{server}/{asked}/discovery/v2.0/keys",
                "response_modes_supported": list(self.response_modes),
                "subject_types_supported": ["pairwise"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "response_types_supported": ["code", "id_token", "code id_token", "id_token token"],
                "scopes_supported": ["openid", "profile", "email", "offline_access"],
                "issuer": self.issuer(tenant),
                "request_uri_parameter_supported": False,
                "userinfo_endpoint": f"{self.at_host('graph.microsoft.com')}/oidc/userinfo",
                "authorization_endpoint": f"{browser}/{asked}/oauth2/v2.0/authorize",
                "device_authorization_endpoint": f"{server}/{asked}/oauth2/v2.0/devicecode",
                "http_logout_supported": True,
                "end_session_endpoint": f"{browser}/{asked}/oauth2/v2.0/logout",
                "claims_supported": [
                    *("sub", "iss", "cloud_instance_name", "cloud_instance_host_name", "cloud_graph_host_name"),
                    *("msgraph_host", "aud", "exp", "iat", "auth_time", "acr", "nonce", "preferred_username", "name"),
                    *("tid", "ver", "at_hash", "c_hash", "email"),
                ],
                "cloud_instance_name": "microsoftonline.com",
                "cloud_graph_host_name": "graph.windows.net",
                "msgraph_host": "graph.microsoft.com",
            }
        )

    def instance(self, call: Call) -> Answer:
        """The endpoint with the cloud's host names and the address of a tenant's discovery document.

        MSAL requests this endpoint first.
        """
        asked = urlsplit(call.query.get("authorization_endpoint", "")).path.split("/")
        tenant = clean(asked[1]) if len(asked) > 1 and asked[1] else "common"
        return json_answer(
            {
                "tenant_discovery_endpoint": f"{self.addresses.server}/{tenant}/v2.0/.well-known/openid-configuration",
                "api-version": "1.1",
                "metadata": [
                    {
                        "preferred_network": "login.microsoftonline.com",
                        "preferred_cache": "login.windows.net",
                        "aliases": [
                            *("login.microsoftonline.com", "login.windows.net", "login.microsoft.com"),
                            "sts.windows.net",
                        ],
                    }
                ],
            }
        )

    def issuer(self, tenant: str) -> str:
        """Return the issuer of the accounts in a tenant."""
        return f"{self.addresses.issuer}/{tenant}/v2.0"

    # Authorization endpoint

    def client_refused(self, client_id: str | None) -> Refusal:
        if not client_id:
            return ShownToPerson(400, NOT_IN_BODY.error, NOT_IN_BODY.naming("client_id").description or "")
        return ShownToPerson(400, "unauthorized_client", PAGE_CLIENT.format(client=client_id))

    def redirect_refused(self, client: Client, call: Call) -> Refusal:
        return ShownToPerson(400, "invalid_request", PAGE_REDIRECT)

    def page_refused(self, request: AuthorizationRequest, *, signed_in: bool) -> str | None:
        """Return an error instead of a page if `prompt=none` forbids a page."""
        if request.query.get("prompt") != "none":
            return None
        return "interaction_required" if signed_in else "login_required"

    def page_refused_words(self, error: str, client: Client) -> str:
        return (
            NOBODY_SIGNED_IN if error == "login_required" else NO_CONSENT.format(id=client.client_id, name=client.title)
        )

    def consent_path(self, call: Call) -> str:
        """Return the path with the tenant of the request, because not everybody may sign in to every tenant."""
        return f"/{tenant_of(call)}/consent"

    def person_refused(self, call: Call, person: Person) -> Refusal | None:
        """Refuse personal accounts wherever the path allows only accounts of an organization."""
        if tenant_of(call) in WITH_PERSONAL or self.tenant(person) != CONSUMERS:
            return None
        return ShownToPerson(400, "invalid_request", PAGE_PERSONAL.format(account=person.email or person.login))

    def logout(self, call: Call) -> Answer:
        """Sign the person out.

        The browser returns to an address that any application has registered as redirect URI, and otherwise stays on a
        page. An id_token is not needed.
        """
        if session := self.session(call):
            logout.end(self, session)
        params = call.query | call.form
        uri = params.get("post_logout_redirect_uri")
        known = (client for client in self.world.clients.all() if client.provider == self.name)
        is_registered = uri is not None and any(
            uri in client.redirect_uris or self.logout_allowed(client, uri) for client in known
        )
        return logout.signed_out(self, uri if is_registered else None, params.get("state"))

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """With `prompt=none`, show no page to people who have approved before."""
        return request.query.get("prompt") == "none" or super().skips_consent(request)

    def refreshable(self, request: AuthorizationRequest, *, first: bool) -> bool:
        """Return whether the request asks for offline access. Otherwise there is no refresh token."""
        return OFFLINE in request.scopes

    def denied_params(self) -> dict[str, str]:
        return self.fault_params("access_denied", DECLINED)

    # Tokens

    def machine_scopes(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return `<resource>/.default`, which stands for everything that the application may do with one resource.

        Any resource is accepted.
        """
        if not asked:
            raise TokenRefused(Reason.PARAMETER_MISSING, "scope")
        if not all(one.endswith(EVERYTHING) for one in asked):
            raise TokenRefused(Reason.SCOPE, " ".join(asked))
        if len(asked) > 1:
            raise TokenRefused(Reason.SCOPES, " ".join(asked))
        return asked

    def refreshed_scopes(self, grant: Grant, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return all granted scopes, even if the request names only some of them.

        Scopes that were not granted are refused.
        """
        if resource_scopes(asked) <= resource_scopes(grant.scopes) | {EVERYTHING[1:]}:
            return grant.scopes
        if self.tenant(self.person(grant)) == CONSUMERS:
            raise TokenRefused(Reason.SCOPE_NOT_GRANTED, "scope")
        client = self.world.clients.get(self.name, grant.client_id)
        raise TokenRefused(Reason.CONSENT, client.title if client else "")

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        """Add the lifetime during an outage, and hide `offline_access`. Tokens for the application have no scope."""
        body = super().token_body(issued, id_token)
        body["scope"] = " ".join(scope for scope in issued.grant.scopes if scope != OFFLINE)
        if issued.grant.for_itself:
            del body["scope"]
        return body | {"ext_expires_in": body["expires_in"]}

    def token_answer(self, call: Call, body: Mapping[str, Any], status: int = 200) -> Answer:
        """If the request asks for `client_info`, as MSAL does, add the ids of the account."""
        issued = self.grants.access.get(body.get("access_token") or "")
        if call.form.get("client_info") != "1" or issued is None or issued.grant.for_itself:
            return super().token_answer(call, body, status)
        person = self.person(issued.grant)
        info = msgspec.json.encode({"uid": self.object_id(person), "utid": self.tenant(person)})
        return super().token_answer(call, {**body, "client_info": base64url(info)}, status)

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """Return the error with its number as a separate member, and with ids for Microsoft's support."""
        words = self.words_for(self.reason_of(call, refusal))
        description = (words.description or "").replace("{member}", refusal.member)
        description = description.replace("{tenant}", tenant_of(call)).replace("{client}", client_named(call))
        number = description.removeprefix("AADSTS").partition(":")[0]
        at = f"{datetime.fromtimestamp(self.now, UTC):%Y-%m-%d %H:%M:%S}Z"
        trace, correlation = self.uuid(self.hexadecimal(32)), self.uuid(self.hexadecimal(32))
        body = {
            "error": words.error,
            "error_description": f"{description} Trace ID: {trace} Correlation ID: {correlation} Timestamp: {at}",
            "error_codes": [int(number)],
            "timestamp": at,
            "trace_id": trace,
            "correlation_id": correlation,
            "error_uri": f"https://login.microsoftonline.com/error?code={number}",
        }
        if refusal.reason is Reason.CONSENT:
            body["suberror"] = "consent_required"
        return json_answer(body, words.status, NO_STORE)

    def reason_of(self, call: Call, refusal: TokenRefused) -> Reason:
        """Return the reason for a refusal. If `client_credentials` lacks a secret, there is a separate reason."""
        machine = call.form.get("grant_type") == CLIENT_CREDENTIALS
        return Reason.PUBLIC_CLIENT if machine and refusal.reason is Reason.SECRET_MISSING else refusal.reason

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """Return claims with the issuer of the tenant. In addition to the subject, there is an object id.

        `email_verified` is never included.
        """
        grant = issued.grant
        person = self.person(grant)
        tenant = self.tenant(person)
        claims = {
            "ver": "2.0",
            "iss": self.issuer(tenant),
            "sub": self.subject(person, grant.client_id),
            "aud": grant.client_id,
            "exp": issued.issued_at + 3600,
            "iat": issued.issued_at,
            "nbf": issued.issued_at,
            "tid": tenant,
            "uti": self.alphanumeric(22),
            **({} if grant.sid is None else {"sid": grant.sid}),
        }
        if "profile" in grant.scopes:
            username = person.email or person.login
            claims |= {"name": person.name, "preferred_username": username, "oid": self.object_id(person)}
        if "email" in grant.scopes:
            claims["email"] = person.email
        return {name: value for name, value in claims.items() if value is not None}

    # Endpoints that need an access token

    def userinfo(self, call: Call) -> Answer:
        """The userinfo endpoint: names and e-mail address. Needs the scope `openid`."""
        grant = self.bearer(call, "openid").grant
        person = self.person(grant)
        claims: dict[str, Any] = {"sub": self.subject(person, grant.client_id)}
        if "profile" in grant.scopes:
            claims |= {
                "name": person.name,
                "family_name": person.family_name,
                "given_name": person.given_name,
                "picture": f"{self.addresses.server}/v1.0/me/photo/$value",
            }
        if "email" in grant.scopes:
            claims["email"] = person.email
        return json_answer({name: value for name, value in claims.items() if value is not None})

    def me(self, call: Call) -> Answer:
        """Graph's user endpoint. It needs the scope `User.Read` or a scope that includes it. Letter case is ignored."""
        grant = self.bearer(call).grant
        if READS_ME.isdisjoint(resource_scopes(grant.scopes)):
            raise advised(BearerRefused(Problem.SCOPE, "User.Read"), forgotten_scope(["User.Read"], grant.scopes))
        person = self.person(grant)
        return json_answer(microsoft_graph.user(person, self.object_id(person), self.addresses.server))

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        ids = self.uuid(self.hexadecimal(32)), self.uuid(self.hexadecimal(32))
        status, body = microsoft_graph.refusal(refusal.problem, self.now, *ids)
        return json_answer(body, status)

    # Formats

    def tenant(self, person: Person) -> str:
        """Return the tenant of a work account's domain. All personal accounts have one common tenant."""
        return self.uuid(fingerprint(f"microsoft {person.hosted_domain}", 32)) if person.hosted_domain else CONSUMERS

    def object_id(self, person: Person) -> str:
        """Return a UUID. It is the same for every application."""
        return self.uuid(fingerprint(f"microsoft {person.id}", 32))

    def uuid(self, digits: str) -> str:
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def kid(self, digest: bytes) -> str:
        return base64url(digest[:20])

    def new_code(self) -> str:
        return "1.A" + self.alphanumeric(500)

    def new_access_token(self) -> str:
        """Return `EwB` and 900 letters and digits, as for personal accounts. Only Graph may parse this token."""
        return "EwB" + self.alphanumeric(900)

    new_refresh_token = new_code

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return 43 letters of base64url. Each application gets different letters."""
        return base64url(sha256(f"microsoft {person.id} {client_id}".encode()).digest())


def tenant_of(call: Call) -> str:
    return call.path.lstrip("/").partition("/")[0]


def client_named(call: Call) -> str:
    """Return the client id in a token request, either decoded from the Basic header or from the form."""
    header = call.headers.get("authorization", "")
    pairs = basic_pairs(header) if header[:6].lower() == "basic " else body_pairs(call.form)
    return clean(pairs[-1][0]) if pairs else ""
