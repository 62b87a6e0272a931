"""Microsoft (Entra ID, v2.0): an issuer per tenant, subjects per application, errors with AADSTS numbers.

Sources, in github.com/MicrosoftDocs/entra-docs below docs/identity-platform: v2-protocols-oidc.md,
v2-oauth2-auth-code-flow.md (answers and errors of the token endpoint, refresh tokens) and id-token-claims-reference.md
(no `at_hash` from the token endpoint). The sentences behind the numbers are those that applications quote.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import NO_STORE, Answer, json_answer
from chatkey_oauth.engine.provider import Provider
from chatkey_oauth.engine.refusals import (
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
from chatkey_oauth.engine.text import base64url, fingerprint

if TYPE_CHECKING:
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.grants import Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest

CONSUMERS: Final = "9188040d-6c67-4c5b-b112-36a304b66dad"
"""The tenant of all personal accounts."""

OF_NO_TENANT: Final = ("common", "organizations")
"""Names in the path that leave the tenant open; discovery then names it by a placeholder."""

GRAPH: Final = {
    Problem.MISSING: (401, "InvalidAuthenticationToken", "Access token is empty."),
    Problem.UNKNOWN: (
        *(401, "InvalidAuthenticationToken"),
        "IDX14100: JWT is not well formed, there are no dots (.).",
    ),
    Problem.EXPIRED: (401, "InvalidAuthenticationToken", "Lifetime validation failed, the token is expired."),
    Problem.REVOKED: (401, "InvalidAuthenticationToken", "Access token has been revoked."),
    Problem.SCOPE: (403, "Authorization_RequestDenied", "Insufficient privileges to complete the operation."),
}
"""How Graph refuses: the status, its code, and words."""


class Imitated(Provider):
    """login.microsoftonline.com and graph.microsoft.com."""

    name = "microsoft"
    hosts = ("login.microsoftonline.com", "graph.microsoft.com")
    accent = ("#0b5ea8", "#2a6fb5")
    ready_made = {
        "client_id": "c0ffee00-c0ff-4e00-8c0f-fee00c0ffee0",
        "client_secret": "rdy8Q~made-for-tests-only-0000000000000",
    }
    scopes = {
        "openid": "Who you are at Microsoft",
        "profile": "Your name and picture",
        "email": "Your e-mail address",
        "offline_access": "Access to what you gave it access to",
        "User.Read": "Your profile",
    }
    challenge_methods = ("S256", "plain")
    response_modes = ("query", "fragment", "form_post")
    error_heading = "Sorry, but we're having trouble signing you in."
    rotates = False
    access_life = 3599
    hashes_access_token = False
    words = {
        **say(
            Words(
                400, "invalid_grant", "AADSTS70000: The provided value for the input parameter '{member}' is not valid."
            ),
            (Reason.CODE_MALFORMED, Reason.CODE_UNKNOWN, Reason.CODE_OF_OTHER_CLIENT, Reason.REFRESH_TOKEN),
        ),
        **say(
            Words(
                *(400, "invalid_grant"),
                "AADSTS501481: The Code_Verifier does not match the code_challenge supplied in the authorization "
                "request.",
            ),
            VERIFIER_REASONS,
        ),
        **say(
            Words(
                *(400, "invalid_request"),
                "AADSTS900144: The request body must contain the following parameter: '{member}'.",
            ),
            (Reason.PARAMETER_MISSING, Reason.CONTENT_TYPE),
        ),
        Reason.CLIENT_UNKNOWN: Words(
            400, "unauthorized_client", "AADSTS700016: Application was not found in the directory."
        ),
        Reason.CLIENT_SECRET: Words(
            *(401, "invalid_client"),
            "AADSTS7000215: Invalid client secret provided. Ensure the secret being sent in the request is the client "
            "secret value, not the client secret ID.",
        ),
        Reason.CODE_USED: Words(
            *(400, "invalid_grant"),
            "AADSTS54005: OAuth2 Authorization code was already redeemed, please retry with a new valid code or use an "
            "existing refresh token.",
        ),
        Reason.CODE_EXPIRED: Words(
            *(400, "invalid_grant"),
            "AADSTS70008: The provided authorization code or refresh token has expired due to inactivity. Send a new "
            "interactive authorization request for this user and resource.",
        ),
        Reason.REDIRECT_URI: Words(
            *(400, "invalid_grant"),
            "AADSTS500112: The reply address does not match the reply address provided when requesting Authorization "
            "code.",
        ),
        Reason.GRANT_TYPE: Words(
            400, "unsupported_grant_type", "AADSTS70003: The app requested an unsupported grant type."
        ),
    }
    open_to_pages = frozenset({Leg.DISCOVERY, Leg.KEYS, Leg.TOKEN, Leg.PROFILE})

    @property
    def label(self) -> str:
        """It is in no table of the chat service, which does not offer it."""
        return "Microsoft"

    def routes(self) -> dict[str, Route]:
        """The endpoints of any tenant, and Graph's."""
        return {
            "GET /{tenant}/v2.0/.well-known/openid-configuration": Route(Leg.DISCOVERY, self.discovery),
            "GET /{tenant}/oauth2/v2.0/authorize": Route(Leg.AUTHORIZE, self.authorize),
            "POST /{tenant}/oauth2/v2.0/token": Route(Leg.TOKEN, self.token),
            "GET /{tenant}/discovery/v2.0/keys": Route(Leg.KEYS, self.jwks),
            "GET POST /oidc/userinfo": Route(Leg.PROFILE, self.userinfo),
            "GET /v1.0/me": Route(Leg.PROFILE, self.me),
        }

    def discovery(self, call: Call) -> Answer:
        """The discovery document of a tenant; where that is open, the issuer has a placeholder for it."""
        browser, server, _ = self.addresses
        asked = call.path.split("/")[1]
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
                "userinfo_endpoint": f"{server}/oidc/userinfo",
                "authorization_endpoint": f"{browser}/{asked}/oauth2/v2.0/authorize",
                "http_logout_supported": True,
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

    def issuer(self, tenant: str) -> str:
        """What it signs as for the people of a tenant."""
        return f"{self.addresses.issuer}/{tenant}/v2.0"

    # Authorization endpoint

    def client_refused(self, client_id: str | None) -> Refusal:
        """Refuse on a page, with Microsoft's number."""
        if not client_id:
            words = "AADSTS900144: The request body must contain the following parameter: 'client_id'."
            return ShownToPerson(400, "invalid_request", words)
        words = f"AADSTS700016: Application with identifier {client_id!r} was not found in the directory."
        return ShownToPerson(400, "unauthorized_client", words)

    def redirect_refused(self, client: Client, call: Call) -> Refusal:
        """Refuse on a page, with Microsoft's number."""
        words = "AADSTS50011: The redirect URI specified in the request does not match the redirect URIs configured."
        return ShownToPerson(400, "invalid_request", words)

    def page_refused(self, request: AuthorizationRequest, *, signed_in: bool) -> str | None:
        """Refuse a page that `prompt=none` forbids."""
        if request.query.get("prompt") != "none":
            return None
        return "interaction_required" if signed_in else "login_required"

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """Show no page with `prompt=none` to those who approved before."""
        return request.query.get("prompt") == "none" or super().skips_consent(request)

    def refreshable(self, request: AuthorizationRequest, *, first: bool) -> bool:
        """Only offline access brings a refresh token."""
        return "offline_access" in request.scopes

    def denied_params(self) -> dict[str, str]:
        """Tell of the refusal with Microsoft's number."""
        return self.fault_params("access_denied", "AADSTS65004: User declined to consent to access the app.")

    # Tokens

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        """Add the lifetime during an outage."""
        body = super().token_body(issued, id_token)
        return body | {"ext_expires_in": body["expires_in"]}

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """Answer with the number in a member of its own, and with what support would ask for."""
        words = self.words_for(refusal.reason)
        description = (words.description or "").replace("{member}", refusal.member)
        at = f"{datetime.fromtimestamp(self.now, UTC):%Y-%m-%d %H:%M:%S}Z"
        trace, correlation = self.uuid(self.hexadecimal(32)), self.uuid(self.hexadecimal(32))
        body = {
            "error": words.error,
            "error_description": f"{description} Trace ID: {trace} Correlation ID: {correlation} Timestamp: {at}",
            "error_codes": [int(number) for number in re.findall(r"AADSTS(\d+)", description)],
            "timestamp": at,
            "trace_id": trace,
            "correlation_id": correlation,
        }
        return json_answer(body, words.status, NO_STORE)

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """The tenant's issuer, the object's id beside the subject, and never whether an address is verified."""
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
        }
        if "profile" in grant.scopes:
            username = person.email or person.login
            claims |= {"name": person.name, "preferred_username": username, "oid": self.object_id(person)}
        if "email" in grant.scopes:
            claims["email"] = person.email
        return {name: value for name, value in claims.items() if value is not None}

    # Behind the token

    def userinfo(self, call: Call) -> Answer:
        """The names and the address, for tokens with the scope `openid`."""
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
        """Graph's user, for tokens with the scope `User.Read`."""
        person = self.person(self.bearer(call, "User.Read").grant)
        return json_answer(
            {
                "@odata.context": f"{self.addresses.server}/v1.0/$metadata#users/$entity",
                "businessPhones": [],
                "displayName": person.name,
                "givenName": person.given_name,
                "jobTitle": None,
                "mail": person.email,
                "mobilePhone": None,
                "officeLocation": None,
                "preferredLanguage": None,
                "surname": person.family_name,
                "userPrincipalName": person.email or person.login,
                "id": self.object_id(person),
            }
        )

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """Refuse as Graph does."""
        status, code, message = GRAPH[refusal.problem]
        inner = {
            "date": f"{datetime.fromtimestamp(self.now, UTC):%Y-%m-%dT%H:%M:%S}",
            "request-id": self.uuid(self.hexadecimal(32)),
            "client-request-id": self.uuid(self.hexadecimal(32)),
        }
        return json_answer({"error": {"code": code, "message": message, "innerError": inner}}, status)

    # Formats

    def tenant(self, person: Person) -> str:
        """The tenant of a work account is that of its domain; all others are personal."""
        return self.uuid(fingerprint(f"microsoft {person.hosted_domain}", 32)) if person.hosted_domain else CONSUMERS

    def object_id(self, person: Person) -> str:
        """A UUID, the same for every application."""
        return self.uuid(fingerprint(f"microsoft {person.id}", 32))

    def uuid(self, digits: str) -> str:
        """32 hexadecimal digits as a UUID."""
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def kid(self, digest: bytes) -> str:
        """27 letters of base64url, as of a thumbprint."""
        return base64url(digest[:20])

    def new_code(self) -> str:
        """`1.A` and 500 letters and digits."""
        return "1.A" + self.alphanumeric(500)

    def new_access_token(self) -> str:
        """`EwB` and 900 letters and digits, as of personal accounts; nobody but Graph may read one."""
        return "EwB" + self.alphanumeric(900)

    new_refresh_token = new_code

    def derived_subject(self, person: Person, client_id: str) -> str:
        """43 letters of base64url, others for each application."""
        return base64url(sha256(f"microsoft {person.id} {client_id}".encode()).digest())
