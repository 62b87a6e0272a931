"""Microsoft (Entra ID, v2.0): an issuer per tenant, subjects per application, and errors with AADSTS numbers.

Sources, in github.com/MicrosoftDocs/entra-docs below docs/identity-platform: v2-protocols-oidc.md,
v2-oauth2-auth-code-flow.md (responses and errors of the token endpoint, refresh tokens) and
id-token-claims-reference.md (no `at_hash` from the token endpoint). The messages of the error numbers, as quoted by
applications: 700016 in github.com/MicrosoftDocs/azure-docs/issues/21690 and github.com/Azure/login/issues/561; 7000215
and `error_uri` in github.com/OfficeDev/microsoft-365-agents-toolkit/issues/8621 and
github.com/qkqpttgf/OneManager-cfworkerskv/issues/11.
An application's own token: v2-oauth2-client-creds-grant-flow.md there. Its errors: 1002012 in
github.com/MicrosoftDocs/azure-docs/issues/99862; 70011 for several resources in
github.com/AzureAD/microsoft-authentication-library-for-js/issues/6069; 7000216 and 7000218 in
github.com/MicrosoftDocs/azure-docs/issues/30777 and github.com/haystackeditor/haystack-editor/issues/41; Graph's error
for a token without a person in github.com/pnp/pnpcore/pull/905. The names of the cloud, and `client_info`:
github.com/AzureAD/microsoft-authentication-library-for-python `msal/authority.py`, `msal/application.py`.
Missing parameters, also if they came outside a form: github.com/openid/AppAuth-iOS/issues/671 and
github.com/microsoftgraph/microsoft-graph-docs/issues/9207.
Superfluous slashes, which are ignored: github.com/AzureAD/microsoft-authentication-library-for-python
`msal/authority.py`, github.com/seanfisher/passport-microsoft `lib/strategy.js`. `offline_access` is requested but not
listed in the response: github.com/requests/requests-oauthlib/issues/507, github.com/oauthlib/oauthlib/issues/562. A
refresh with scopes that were never granted: github.com/O365/python-o365/issues/323, and for a personal account
github.com/AzureAD/microsoft-authentication-library-for-js/issues/3303.
The device flow: v2-oauth2-device-code.md there, which has no `slow_down`. Its scope:
github.com/MicrosoftDocs/azure-docs/issues/60942. The older grant type, which MSAL for Node sends, and 70016:
github.com/AzureAD/microsoft-authentication-library-for-js `lib/msal-common/src/utils/Constants.ts`,
`lib/msal-node/test/test_kit/StringConstants.ts`; the older parameter `code`:
github.com/AzureAD/microsoft-authentication-library-for-dotnet/issues/658; the parameter that is reported missing:
github.com/mvelazc0/msInvader/issues/7; 70020:
github.com/Azure/azure-cli/issues/22251; 7000014: github.com/MicrosoftDocs/microsoft-graph-training/issues/97. An
application with a secret gets its codes without it, but needs it once a person has approved:
github.com/AzureAD/azure-activedirectory-library-for-nodejs/issues/140 and
github.com/Azure-Samples/active-directory-dotnetcore-devicecodeflow-v2/issues/9.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from chatkey_oauth.engine.advice import advised, forgotten_scope
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.credentials import basic_pairs, body_pairs
from chatkey_oauth.engine.device import DEVICE_CODE, LIFE, begin, by_device_code, is_approved, page, was_given
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
from chatkey_oauth.engine.switches import Switch
from chatkey_oauth.engine.text import base64url, clean, fingerprint
from chatkey_oauth.engine.token import CLIENT_CREDENTIALS, required

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest

CONSUMERS: Final = "9188040d-6c67-4c5b-b112-36a304b66dad"
"""The tenant of all personal accounts."""

OF_NO_TENANT: Final = ("common", "organizations")
"""Path names that stand for any tenant. Discovery then has a placeholder for the tenant."""

EVERYTHING: Final = "/.default"
"""The suffix of a scope that means everything granted for a resource."""

OF_GRAPH: Final = "https://graph.microsoft.com/"
"""The default resource of a scope."""

OFFLINE: Final = "offline_access"
OF_OPENID: Final = frozenset({"openid", "profile", "email", OFFLINE})
"""The scopes that do not belong to a resource."""

READS_ME: Final = frozenset({"user.read", "user.readwrite", EVERYTHING[1:]})
"""Graph's scopes that allow reading one's own user."""

OF_DEVICES: Final = (DEVICE_CODE, "device_code")
"""The grant type of the device flow, and its older name."""

GRAPH: Final = {
    Problem.MISSING: (401, "InvalidAuthenticationToken", "Access token is empty."),
    Problem.UNKNOWN: (
        *(401, "InvalidAuthenticationToken"),
        "IDX14100: JWT is not well formed, there are no dots (.).",
    ),
    Problem.EXPIRED: (401, "InvalidAuthenticationToken", "Lifetime validation failed, the token is expired."),
    Problem.REVOKED: (401, "InvalidAuthenticationToken", "Access token has been revoked."),
    Problem.SCOPE: (403, "Authorization_RequestDenied", "Insufficient privileges to complete the operation."),
    Problem.NOBODY: (400, "BadRequest", "/me request is only valid with delegated authentication flow."),
}
"""Graph's refusals: status, code, and message."""

NOT_IN_BODY: Final = Words(
    400, "invalid_request", "AADSTS900144: The request body must contain the following parameter: '{member}'."
)
DECLINED: Final = "AADSTS65004: User declined to consent to access the app."
UNKNOWN: Final = (
    "AADSTS700016: Application with identifier '{client}' was not found in the directory '{tenant}'. This can happen "
    "if the application has not been installed by the administrator of the tenant or consented to by any user in the "
    "tenant. You may have sent your authentication request to the wrong tenant."
)


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
    renews = True
    knows_machines = True
    access_life = 3599
    user_code_shape = "X" * 9
    user_code_signs = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    paces_devices = False
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
        **say(NOT_IN_BODY, (Reason.PARAMETER_MISSING, Reason.CLIENT_MISSING)),
        Reason.CONTENT_TYPE: NOT_IN_BODY.naming("grant_type"),
        Reason.SCOPE: Words(
            *(400, "invalid_scope"),
            "AADSTS1002012: The provided value for scope {member} is not valid. Client credential flows must have a "
            "scope value with /.default suffixed to the resource identifier (application ID URI).",
        ),
        Reason.SCOPES: Words(
            *(400, "invalid_scope"),
            "AADSTS70011: The provided request must include a 'scope' input parameter. The provided value for the "
            "input parameter 'scope' is not valid. The scope {member} is not valid.",
        ),
        Reason.CONSENT: Words(
            *(400, "invalid_grant"),
            "AADSTS65001: The user or administrator has not consented to use the application with ID '{client}' named "
            "'{member}'. Send an interactive authorization request for this user and resource.",
        ),
        Reason.SCOPE_NOT_GRANTED: Words(
            *(400, "invalid_grant"),
            "AADSTS70000: The request was denied because one or more scopes requested are unauthorized or expired. The "
            "user must first sign in and grant the client application access to the requested scope.",
        ),
        Reason.SECRET_MISSING: Words(
            *(401, "invalid_client"),
            "AADSTS7000218: The request body must contain the following parameter: 'client_assertion' or "
            "'client_secret'.",
        ),
        Reason.PUBLIC_CLIENT: Words(
            *(401, "invalid_client"),
            "AADSTS7000216: 'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' "
            "grant type.",
        ),
        Reason.CLIENT_UNKNOWN: Words(400, "unauthorized_client", UNKNOWN),
        Reason.CLIENT_SECRET: Words(
            *(401, "invalid_client"),
            "AADSTS7000215: Invalid client secret provided. Ensure the secret being sent in the request is the client "
            "secret value, not the client secret ID, for a secret added to app '{client}'.",
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
        Reason.DEVICE_PENDING: Words(
            *(400, "authorization_pending"),
            "AADSTS70016: OAuth 2.0 device flow error. Authorization is pending. Continue polling.",
        ),
        Reason.DEVICE_DENIED: Words(400, "authorization_declined", DECLINED),
        Reason.DEVICE_EXPIRED: Words(
            *(400, "expired_token"),
            "AADSTS70020: The provided value for the input parameter 'device_code' is not valid. This device code has "
            "expired.",
        ),
        Reason.DEVICE_CODE: Words(
            *(400, "bad_verification_code"),
            "AADSTS7000014: The provided value for the input parameter 'device_code' is not valid.",
        ),
        Reason.GRANT_TYPE: Words(
            400, "unsupported_grant_type", "AADSTS70003: The app requested an unsupported grant type."
        ),
    }
    open_to_pages = frozenset({Leg.DISCOVERY, Leg.KEYS, Leg.TOKEN, Leg.PROFILE})
    switches = (
        Switch(
            "public-flows",
            False,
            "Applications allow public client flows, which new ones do not: a device needs no secret.",
        ),
    )

    @property
    def label(self) -> str:
        """The name shown to people. The chat service does not offer this provider, so its table has no name for it."""
        return "Microsoft"

    def routes(self) -> dict[str, Route]:
        """Return the endpoints of all tenants, and Graph's."""
        return {
            "GET /{tenant}/v2.0/.well-known/openid-configuration": Route(Leg.DISCOVERY, self.discovery),
            "GET /{tenant}/discovery/instance": Route(Leg.DISCOVERY, self.instance),
            "GET /{tenant}/oauth2/v2.0/authorize": Route(Leg.AUTHORIZE, self.authorize),
            "POST /{tenant}/oauth2/v2.0/token": Route(Leg.TOKEN, self.token),
            "POST /{tenant}/oauth2/v2.0/devicecode": Route(None, self.device),
            "GET POST /devicelogin": Route(None, self.device_page),
            "GET /{tenant}/discovery/v2.0/keys": Route(Leg.KEYS, self.jwks),
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
                "userinfo_endpoint": f"{server}/oidc/userinfo",
                "authorization_endpoint": f"{browser}/{asked}/oauth2/v2.0/authorize",
                "device_authorization_endpoint": f"{server}/{asked}/oauth2/v2.0/devicecode",
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

    def instance(self, call: Call) -> Answer:
        """The endpoint with the cloud's host names and a tenant's discovery address, which MSAL requests first."""
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
        """Return the issuer for the people of a tenant."""
        return f"{self.addresses.issuer}/{tenant}/v2.0"

    # Authorization endpoint

    def client_refused(self, client_id: str | None) -> Refusal:
        """Refuse on a page, with Microsoft's error number."""
        if not client_id:
            words = "AADSTS900144: The request body must contain the following parameter: 'client_id'."
            return ShownToPerson(400, "invalid_request", words)
        words = f"AADSTS700016: Application with identifier {client_id!r} was not found in the directory."
        return ShownToPerson(400, "unauthorized_client", words)

    def redirect_refused(self, client: Client, call: Call) -> Refusal:
        """Refuse on a page, with Microsoft's error number."""
        words = "AADSTS50011: The redirect URI specified in the request does not match the redirect URIs configured."
        return ShownToPerson(400, "invalid_request", words)

    def page_refused(self, request: AuthorizationRequest, *, signed_in: bool) -> str | None:
        """Return an error instead of a page if `prompt=none` forbids one."""
        if request.query.get("prompt") != "none":
            return None
        return "interaction_required" if signed_in else "login_required"

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """With `prompt=none`, show no page to people who approved before."""
        return request.query.get("prompt") == "none" or super().skips_consent(request)

    def refreshable(self, request: AuthorizationRequest, *, first: bool) -> bool:
        """Issue a refresh token only for offline access."""
        return OFFLINE in request.scopes

    def denied_params(self) -> dict[str, str]:
        """Report the denial with Microsoft's error number."""
        return self.fault_params("access_denied", DECLINED)

    # Devices

    def device(self, call: Call) -> Answer:
        """The endpoint that issues the codes of the device flow, with a message to show to the person."""
        params = {} if call.is_json else call.form
        client = self.world.clients.get(self.name, required(params, "client_id"))
        if client is None:
            raise TokenRefused(Reason.CLIENT_UNKNOWN, "client_id")
        required(params, "scope")
        device_code, device = begin(self, client, params)
        where = f"{self.addresses.browser}/devicelogin"
        return json_answer(
            {
                "user_code": device.user_code,
                "device_code": device_code,
                "verification_uri": where,
                "expires_in": LIFE,
                "interval": device.interval,
                "message": f"To sign in, use a web browser to open the page {where} and enter the code "
                f"{device.user_code} to authenticate.",
            },
            headers=NO_STORE,
        )

    def device_page(self, call: Call) -> Answer:
        """The page where a person types the device's code and approves."""
        return page(self, call)

    def other_grant(self, client: Client, params: Mapping[str, str]) -> Issued:
        """Exchange a device code."""
        if params.get("grant_type") not in OF_DEVICES:
            return super().other_grant(client, params)
        return by_device_code(self, client, params.get("code") or required(params, "device_code"))

    def asks_proof(self, params: Mapping[str, str]) -> bool:
        """Require no secret while a device waits. With the switch `public-flows`, tokens need none either."""
        by_device = params.get("grant_type") in OF_DEVICES
        if self.on("public-flows"):
            return not by_device and not was_given(self, params)
        return not by_device or is_approved(self, params.get("code") or params.get("device_code", ""))

    # Tokens

    def machine_scopes(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return `<resource>/.default`, everything that the application may do with one resource. Any resource is
        accepted.
        """
        if not asked:
            raise TokenRefused(Reason.PARAMETER_MISSING, "scope")
        if not all(one.endswith(EVERYTHING) for one in asked):
            raise TokenRefused(Reason.SCOPE, " ".join(asked))
        if len(asked) > 1:
            raise TokenRefused(Reason.SCOPES, " ".join(asked))
        return asked

    def refreshed_scopes(self, grant: Grant, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return all granted scopes, whichever of them are requested. Scopes that were not granted are refused."""
        if resource_scopes(asked) <= resource_scopes(grant.scopes) | {EVERYTHING[1:]}:
            return grant.scopes
        if self.tenant(self.person(grant)) == CONSUMERS:
            raise TokenRefused(Reason.SCOPE_NOT_GRANTED, "scope")
        client = self.world.clients.get(self.name, grant.client_id)
        raise TokenRefused(Reason.CONSENT, client.title if client else "")

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        """Add the lifetime during an outage, and hide `offline_access`. An application's own token has no scope."""
        body = super().token_body(issued, id_token)
        body["scope"] = " ".join(scope for scope in issued.grant.scopes if scope != OFFLINE)
        if issued.grant.for_itself:
            del body["scope"]
        return body | {"ext_expires_in": body["expires_in"]}

    def token_answer(self, call: Call, body: Mapping[str, Any], status: int = 200) -> Answer:
        """Add the account's ids as `client_info` if the request asks for it, as MSAL does."""
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
        """Distinguish a secret that is missing for the `client_credentials` grant from one missing otherwise."""
        machine = call.form.get("grant_type") == CLIENT_CREDENTIALS
        return Reason.PUBLIC_CLIENT if machine and refusal.reason is Reason.SECRET_MISSING else refusal.reason

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """Return claims with the tenant's issuer and, besides the subject, an object id. `email_verified` is never
        included.
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
        """Graph's user endpoint. Needs the scope `User.Read` or one that includes it, in any case."""
        grant = self.bearer(call).grant
        if READS_ME.isdisjoint(resource_scopes(grant.scopes)):
            raise advised(BearerRefused(Problem.SCOPE, "User.Read"), forgotten_scope(["User.Read"], grant.scopes))
        person = self.person(grant)
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
        """Refuse in Graph's format."""
        status, code, message = GRAPH[refusal.problem]
        inner = {
            "date": f"{datetime.fromtimestamp(self.now, UTC):%Y-%m-%dT%H:%M:%S}",
            "request-id": self.uuid(self.hexadecimal(32)),
            "client-request-id": self.uuid(self.hexadecimal(32)),
        }
        return json_answer({"error": {"code": code, "message": message, "innerError": inner}}, status)

    # Formats

    def tenant(self, person: Person) -> str:
        """Return the tenant of a work account's domain, or the one of all personal accounts."""
        return self.uuid(fingerprint(f"microsoft {person.hosted_domain}", 32)) if person.hosted_domain else CONSUMERS

    def object_id(self, person: Person) -> str:
        """Return a UUID, the same for every application."""
        return self.uuid(fingerprint(f"microsoft {person.id}", 32))

    def uuid(self, digits: str) -> str:
        """Format 32 hexadecimal digits as a UUID."""
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def kid(self, digest: bytes) -> str:
        """Return 27 letters of base64url, like a thumbprint."""
        return base64url(digest[:20])

    def new_code(self) -> str:
        """Return `1.A` and 500 letters and digits."""
        return "1.A" + self.alphanumeric(500)

    def new_access_token(self) -> str:
        """Return `EwB` and 900 letters and digits, as for personal accounts. Only Graph may parse this token."""
        return "EwB" + self.alphanumeric(900)

    new_refresh_token = new_code

    def new_device_code(self) -> str:
        """Return `HAQABIQEAAAB` and 180 letters and digits."""
        return "HAQABIQEAAAB" + self.alphanumeric(180)

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return 43 letters of base64url, different for each application."""
        return base64url(sha256(f"microsoft {person.id} {client_id}".encode()).digest())


def resource_scopes(scopes: Iterable[str]) -> set[str]:
    """Return the scopes that belong to a resource, in lower case and without Graph's prefix."""
    return {scope.removeprefix(OF_GRAPH).casefold() for scope in scopes if scope not in OF_OPENID}


def tenant_of(call: Call) -> str:
    """Return the tenant in the request's path."""
    return call.path.lstrip("/").partition("/")[0]


def client_named(call: Call) -> str:
    """Return the client id in a token request, from its Basic header, decoded, or from its form."""
    header = call.headers.get("authorization", "")
    pairs = basic_pairs(header) if header[:6].lower() == "basic " else body_pairs(call.form)
    return clean(pairs[-1][0]) if pairs else ""
