"""Amazon (Login with Amazon): tokens contain a bar, and the members of errors have an unusual order.

A client can send an access token in three ways. The token endpoint also accepts JSON, because axios sends an object as
JSON. A refresh returns another refresh token, and the old refresh token stays valid.

Sources, below developer.amazon.com/docs: login-with-amazon/access-token.html, login-with-amazon/refresh-token.html, and
an example response in amazon-data-portability/use-refresh-token.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

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
    Refusal,
    ShownToPerson,
    TokenRefused,
    Words,
)
from chatkey_oauth.engine.routing import Route
from chatkey_oauth.engine.switches import Switch
from chatkey_oauth.engine.text import digits, fingerprint

if TYPE_CHECKING:
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest

BAD_GRANT: Final = Words(400, "invalid_grant", "The request has an invalid grant parameter : {member}")


class Voluntary(msgspec.Struct):
    """An entry of `scope_data`. It says whether the application requires the scope."""

    essential: bool = True


class Imitated(Provider):
    """Imitates www.amazon.com and api.amazon.com."""

    name = "amazon"
    hosts = ("www.amazon.com", "api.amazon.com")
    accent = ("#8a5a00", "#9c6a10")
    ready_made = {
        "client_id": "amzn1.application-oa2-client." + "c0ffee00" * 4,
        "client_secret": "amzn1.oa2-cs.v1." + "c0ffee00" * 8,
    }
    scopes = {
        "profile": "Your name and e-mail address",
        "profile:user_id": "Your id at Amazon",
        "postal_code": "Your postal code",
    }
    strict_scopes = True
    challenge_methods = ("S256", "plain")
    error_heading = "We're sorry!"
    json_bodies = True
    query_tokens = True
    rotates = False
    renews = True
    code_life = 300
    words = {
        **say(Words(401, "invalid_client", "Client authentication failed"), CLIENT_REASONS),
        **say(BAD_GRANT, (*CODE_REASONS, *VERIFIER_REASONS, Reason.REDIRECT_URI, Reason.REFRESH_TOKEN)),
        Reason.PARAMETER_MISSING: Words(
            400, "invalid_request", "The request is missing a required parameter : {member}"
        ),
        Reason.GRANT_TYPE: Words(
            400,
            "unsupported_grant_type",
            "The authorization grant type is not supported by the authorization server",
        ),
    }
    switches = (Switch("callback-scope", True, "The callback contains the granted scopes as `scope`."),)

    def routes(self) -> dict[str, Route]:
        """Return four endpoints. Amazon has neither discovery nor revocation."""
        return {
            "GET /ap/oa": Route(Leg.AUTHORIZE, self.authorize),
            "POST /auth/o2/token": Route(Leg.TOKEN, self.token),
            "GET /auth/o2/tokeninfo": Route(Leg.PROFILE, self.token_info),
            "GET /user/profile": Route(Leg.PROFILE, self.user),
        }

    # Authorization endpoint

    def redirect_refused(self, client: Client, call: Call) -> Refusal:
        text = "The redirect URI you provided has not been whitelisted for your application."
        return ShownToPerson(400, "invalid_request", text)

    def fault_params(self, error: str, description: str) -> dict[str, str]:
        """Return Amazon's wording for an invalid scope, and the engine's wording for other errors."""
        if error == "invalid_scope":
            description = "An unknown scope was requested"
        return {"error_description": description, "error": error}

    def denied_params(self) -> dict[str, str]:
        return self.fault_params("access_denied", "Access not permitted.")

    def callback(self, params: Mapping[str, str], query: Mapping[str, str]) -> dict[str, str]:
        """Move `error` to the end of the parameters."""
        ordered = super().callback(params, query)
        error = {"error": ordered.pop("error")} if "error" in ordered else {}
        return ordered | error

    def approved_params(self, request: AuthorizationRequest, grant: Grant, *, first: bool) -> dict[str, str]:
        """If the switch `callback-scope` is on, add the granted scopes."""
        return {"scope": " ".join(grant.scopes)} if self.on("callback-scope") else {}

    def may_decline(self, request: AuthorizationRequest) -> frozenset[str]:
        """Return the scopes that `scope_data` marks as not essential."""
        try:
            data = msgspec.json.decode(request.query.get("scope_data", "{}"), type=dict[str, Voluntary])
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            return frozenset()
        return frozenset(scope for scope, asked in data.items() if not asked.essential)

    # Token endpoint

    def refreshable(self, request: AuthorizationRequest, *, first: bool) -> bool:
        """Return whether the application has a secret: a public application gets no refresh token."""
        return not request.client.is_public

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        """Remove the scope, and write the token type in lower case."""
        body = super().token_body(issued, id_token) | {"token_type": "bearer"}
        return {name: value for name, value in body.items() if name != "scope"}

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """Return an error with four members, of which `error` is the third."""
        words = self.words_for(refusal.reason)
        description = (words.description or "").replace("{member}", refusal.member)
        body = {
            "error_index": f"A{self.alphanumeric(22)}",
            "error_description": description,
            "error": words.error,
            "request_id": self.request_id(),
        }
        return json_answer(body, words.status, NO_STORE)

    # Endpoints that need an access token

    def bearer_text(self, call: Call) -> str | None:
        return super().bearer_text(call) or call.headers.get("x-amz-access-token")

    def user(self, call: Call) -> Answer:
        """The profile endpoint. It returns what the granted scopes allow, and omits values that the person lacks."""
        grant = self.bearer(call, *self.scopes).grant
        person = self.person(grant)
        profile: dict[str, Any] = {"user_id": self.subject(person, grant.client_id)}
        if "profile" in grant.scopes:
            profile |= {"name": person.name, "email": person.email}
        if "postal_code" in grant.scopes:
            profile["postal_code"] = digits(f"postal code {person.id}", 5)
        return json_answer({name: value for name, value in profile.items() if value is not None})

    def token_info(self, call: Call) -> Answer:
        """The endpoint that names a token's person and application. `exp` is the remaining lifetime in seconds."""
        issued = self.bearer(call)
        return json_answer(
            {
                "aud": issued.grant.client_id,
                "user_id": self.subject(self.person(issued.grant), issued.grant.client_id),
                "iss": self.addresses.issuer,
                "exp": (issued.expires_at or 0) - self.now,
                "app_id": f"amzn1.application.{fingerprint(issued.grant.client_id)}",
                "iat": issued.issued_at,
            }
        )

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """Report an invalid token as an invalid parameter, with status 400."""
        if refusal.problem is Problem.SCOPE:
            description, error, status = "The access token does not have the required scope", "insufficient_scope", 403
        else:
            description, error, status = "The request has an invalid parameter : access_token", "invalid_token", 400
        body = {"error_description": description, "error": error, "request_id": self.request_id()}
        return json_answer(body, status)

    # Formats

    def request_id(self) -> str:
        return "-".join(self.hexadecimal(length) for length in (8, 4, 4, 4, 12))

    def new_code(self) -> str:
        return "AN" + self.alphanumeric(18)

    def new_access_token(self) -> str:
        """Return `Atza|` and more than 350 letters and digits. A query must contain the bar in encoded form."""
        return f"Atza|IwEB{self.alphanumeric(360)}"

    def new_refresh_token(self) -> str:
        return f"Atzr|IwEB{self.alphanumeric(360)}"

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return `amzn1.account.A` and 27 hexadecimal digits. Every client gets the same subject id."""
        return f"amzn1.account.A{fingerprint(f'amazon {person.id}', 27).upper()}"
