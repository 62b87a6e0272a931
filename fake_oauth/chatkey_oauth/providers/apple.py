"""Apple: the callback is a cross-site form post, the client secret is a JWT, and the name is sent only once.

The flags in the id_token have been booleans since February 2024. Sources: github.com/nicokaiser/passport-apple/pull/86,
github.com/AzimoLabs/apple-sign-in-php-sdk/issues/39.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from chatkey_lab.hosts import is_loopback
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.clients import check_redirect_uris
from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.dialect.common import letters
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.grants import Issued
from chatkey_oauth.engine.http import NO_STORE, Answer, json_answer
from chatkey_oauth.engine.provider import Provider
from chatkey_oauth.engine.refusals import (
    CLIENT_REASONS,
    CODE_REASONS,
    BearerRefused,
    Reason,
    Refusal,
    ShownToPerson,
    TokenRefused,
    Words,
)
from chatkey_oauth.engine.routing import Route
from chatkey_oauth.engine.switches import Switch
from chatkey_oauth.engine.text import clean, fingerprint
from chatkey_oauth.engine.token import own_token
from chatkey_oauth.providers.apple_secret import BadSecret, check_application, verify

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.grants import Grant
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest

REAL = "https://appleid.apple.com"
RELAY = "@privaterelay.appleid.com"
HYBRID = "code id_token"
ID_TOKEN_LIFE = 24 * 60 * 60
PLUS_IN_SCOPE = re.compile(r"(?:^|&)scope=[^&]*\+")
LOWER = "abcdefghijklmnopqrstuvwxyz"
NAME_CHOICE = """<fieldset><legend>Name, if not the account's own</legend>
<input type="text" name="given_name" aria-label="First name" placeholder="First name">
<input type="text" name="family_name" aria-label="Last name" placeholder="Last name"></fieldset>"""
EMAIL_CHOICE = """<fieldset><legend>E-mail</legend>
<label><input type="radio" name="email_choice" value="share" checked>Share my e-mail</label>
<label><input type="radio" name="email_choice" value="hide">Hide my e-mail</label></fieldset>"""
STOP_USING = """<label><input type="checkbox" name="stop_using" value="yes">Forget that I allowed this before</label>"""


class Imitated(Provider):
    """Imitates appleid.apple.com."""

    name = "apple"
    hosts = ("appleid.apple.com",)
    accent = ("#1d1d1f", "#6e6e78")
    ready_made = {
        "client_id": "com.example.ready-made",
        "team_id": "READYMADE0",
        "key_id": "READYMADE1",
        "public_key": {
            "kty": "EC",
            "crv": "P-256",
            "x": "UVY6kVEHhCWAxRZcMjYNfXprlXJFvddJZY6VHTU2h0c",
            "y": "wF0BIYdNZqSEqMnkqYGuSTUuqV9sg4upfnBna2rAToM",
        },
    }
    scopes = {"openid": "Your id at Apple", "name": "Your name", "email": "Your e-mail address"}
    default_scope = ""
    strict_scopes = True
    challenge_methods = ("S256", "plain")
    response_types = ("code", HYBRID)
    response_modes = ("query", "fragment", "form_post")
    basic_auth = False
    rotates = False
    code_life = 300
    first_keys = 2
    id_token_typ = None
    words = {
        **say(Words(400, "invalid_client"), (*CLIENT_REASONS, Reason.REDIRECT_URI)),
        **say(Words(400, "invalid_grant", "The code has expired or has been revoked."), CODE_REASONS),
        **say(Words(400, "invalid_request"), (Reason.PARAMETER_MISSING, Reason.CONTENT_TYPE, Reason.VERIFIER_MISSING)),
        Reason.CODE_USED: Words(400, "invalid_grant", "The code has already been used."),
        Reason.CODE_OF_OTHER_CLIENT: Words(
            400, "invalid_grant", "client_id mismatch. The code was not issued to {member}."
        ),
        Reason.VERIFIER_WRONG: Words(400, "invalid_grant"),
        Reason.REFRESH_TOKEN: Words(400, "invalid_grant"),
        Reason.GRANT_TYPE: Words(400, "unsupported_grant_type"),
    }
    switches = (
        Switch(
            "text-booleans",
            False,
            '`email_verified` and `is_private_email` are the text `"true"`, as they were until February 2024.',
        ),
        Switch("refresh-id-token", True, "The response for a refresh token contains an id_token."),
        Switch(
            "mismatch-text", True, "The error for another client's code differs from the error for an expired code."
        ),
        Switch("pkce", True, "A `code_challenge` is verified. Apple's documentation does not mention it."),
        Switch("strict-scope", False, "Scopes must be separated by `%20`; a `+` between them is refused."),
        Switch("strict-redirect", False, "Redirect URIs with http, an IP address or localhost are refused."),
    )

    def routes(self) -> dict[str, Route]:
        """Return five endpoints. There is no userinfo endpoint, because the id_token contains everything."""
        return {
            "GET /.well-known/openid-configuration": Route(Leg.DISCOVERY, self.discovery),
            "GET /auth/authorize": Route(Leg.AUTHORIZE, self.authorize),
            "POST /auth/token": Route(Leg.TOKEN, self.token),
            "GET /auth/keys": Route(Leg.KEYS, self.jwks),
            "POST /auth/revoke": Route(Leg.REVOKE, self.revoke),
        }

    def discovery(self, call: Call) -> Answer:
        """The discovery document, which has no `userinfo_endpoint`."""
        browser, server, issuer = self.addresses
        return json_answer(
            {
                "issuer": issuer,
                "authorization_endpoint": f"{browser}/auth/authorize",
                "token_endpoint": f"{server}/auth/token",
                "revocation_endpoint": f"{server}/auth/revoke",
                "jwks_uri": f"{server}/auth/keys",
                "response_types_supported": ["code"],
                "response_modes_supported": list(self.response_modes),
                "subject_types_supported": ["pairwise"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "scopes_supported": ["openid", "email", "name"],
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
                "claims_supported": [
                    *("aud", "email", "email_verified", "exp", "iat", "is_private_email", "iss", "nonce"),
                    *("nonce_supported", "real_user_status", "sub", "transfer_sub"),
                ],
            }
        )

    @classmethod
    def check_client(cls, client: Client) -> None:
        """Require the members with which an application signs its client secret."""
        check_redirect_uris(client)
        check_application(client)

    # Authorization endpoint

    def authorize(self, call: Call) -> Answer:
        """If the switch `strict-scope` is on, refuse scopes joined by `+` instead of `%20`."""
        if self.on("strict-scope") and PLUS_IN_SCOPE.search(call.query_string):
            raise ShownToPerson(400, "invalid_scope", "Scopes must be separated by %20, not by +.")
        return super().authorize(call)

    def shows_fault(self, error: str) -> bool:
        """Show every error on a page. Only the denial of a person is sent to the client."""
        return True

    def redirect_refused(self, client: Client, call: Call) -> Refusal:
        return ShownToPerson(400, "invalid_request", "Invalid web redirect url.")

    def check_request(self, request: AuthorizationRequest) -> None:
        """Require `form_post` if the scopes include name or e-mail. For an id_token, refuse the mode `query`."""
        if self.on("strict-redirect") and not is_public(request.redirect_uri):
            raise ShownToPerson(400, "invalid_request", "Invalid web redirect url.")
        if request.response_mode != "form_post" and {"name", "email"}.intersection(request.scopes):
            text = "response_mode must be form_post when name or email scope is requested."
            raise ShownToPerson(400, "invalid_request", text)
        if request.response_mode == "query" and self.is_hybrid(request):
            raise ShownToPerson(400, "invalid_request", "Invalid response mode.")

    def ignores_challenge(self) -> bool:
        return not self.on("pkce")

    def denied_params(self) -> dict[str, str]:
        return {"error": "user_cancelled_authorize"}

    def choices(self, request: AuthorizationRequest) -> str:
        """Ask for the name to send, and whether to hide the e-mail address. Both count only at the first approval."""
        name = NAME_CHOICE if "name" in request.scopes else ""
        email = EMAIL_CHOICE if "email" in request.scopes else ""
        return f'<div class="choices">{name}{email}{STOP_USING}</div>'

    def settle(self, request: AuthorizationRequest, person: Person, form: Mapping[str, str]) -> dict[str, str]:
        """Store the choices.

        If the person asks to withdraw an earlier approval, delete it, as "stop using" does in an Apple
        account's settings.
        """
        if form.get("stop_using"):
            self.grants.forget(request.client.client_id, person.id)
        return {name: clean(form[name]) for name in ("given_name", "family_name", "email_choice") if form.get(name)}

    def approved_params(self, request: AuthorizationRequest, grant: Grant, *, first: bool) -> dict[str, str]:
        """At the first approval, add the person's name and address if the scopes allow them. They are not signed."""
        if not first:
            return {}
        person = self.person(grant)
        user = (self.told_name(person, grant) if "name" in grant.scopes else {}) | (
            {"email": self.address(person, grant)} if "email" in grant.scopes and person.email else {}
        )
        return {"user": msgspec.json.encode(user).decode()} if user else {}

    def told_name(self, person: Person, grant: Grant) -> dict[str, Any]:
        """Return the name as the person has edited it.

        If the person has not edited the name, return the account's name. Without any name, return an empty object.
        """
        chosen = grant.consent.chosen
        given = chosen.get("given_name", person.given_name)
        family = chosen.get("family_name", person.family_name)
        return {"name": {"firstName": given or "", "lastName": family or ""}} if given or family else {}

    def address(self, person: Person, grant: Grant) -> str | None:
        """Return the e-mail address, or a relay address if the person hides the address.

        All clients of a team get the same address.
        """
        if not person.email or grant.consent.chosen.get("email_choice") != "hide":
            return person.email
        return fingerprint(f"relay {person.id} {self.team(grant.client_id)}", 10) + RELAY

    def is_hybrid(self, request: AuthorizationRequest) -> bool:
        return request.query.get("response_type") == HYBRID

    # Token endpoint

    def proves(self, client: Client, secret: str) -> bool:
        """Accept a JWT that the client has signed.

        Its audience must be Apple's real address or one of the fake's addresses.
        """
        if client.any_secret:
            return True
        try:
            verify(secret, client, audiences=(REAL, *dict.fromkeys(self.addresses)), now=self.world.clock())
        except BadSecret as error:
            raise TokenRefused(Reason.CLIENT_SECRET, "client_secret", str(error)) from error
        return True

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        return {name: value for name, value in super().token_body(issued, id_token).items() if name != "scope"}

    def signs(self, scopes: Collection[str]) -> bool:
        """Return true, because every login yields an id_token, whatever its scopes."""
        return True

    def brings_id_token(self, issued: Issued) -> bool:
        """Return whether the response has an id_token.

        A response for a code always has one. A response for a refresh token has one if the switch `refresh-id-token` is
        on.
        """
        return issued.refresh is not None or self.on("refresh-id-token")

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """If the switch `mismatch-text` is on and the code belongs to another client, name the client that sent the
        request.
        """
        if refusal.reason is Reason.CODE_OF_OTHER_CLIENT:
            named = TokenRefused(refusal.reason, call.form["client_id"])
            refusal = named if self.on("mismatch-text") else TokenRefused(Reason.CODE_EXPIRED)
        return super().token_refusal(call, refusal)

    def revoke(self, call: Call) -> Answer:
        """Withdraw an approval through any of its tokens.

        The next login counts as the first again. The response is empty.
        """
        issued = own_token(self, call)
        if issued is not None and not issued.is_revoked:
            self.grants.withdraw(issued.grant)
        return Answer(200, headers=NO_STORE)

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """Report `invalid_grant`.

        No endpoint accepts access tokens, so this response is sent only if the person of a code was removed.
        """
        return json_answer({"error": "invalid_grant"}, 400, NO_STORE)

    # id_token

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """Return claims that are valid for 24 hours.

        They never include a name. If the scope was granted once, every id_token has the address.
        """
        grant = issued.grant
        person = self.person(grant)
        claims: dict[str, Any] = {
            "aud": grant.client_id,
            "exp": issued.issued_at + ID_TOKEN_LIFE,
            "iat": issued.issued_at,
            "sub": self.subject(person, grant.client_id),
            "nonce_supported": True,
            "auth_time": grant.auth_time,
        }
        if "email" in grant.consent.allowed and (address := self.address(person, grant)):
            claims |= {"email": address, "email_verified": self.flag(person.email_verified)}
            if address.endswith(RELAY):
                claims["is_private_email"] = self.flag(True)
        return claims

    def flag(self, value: bool) -> bool | str:
        """Return a boolean. If the switch `text-booleans` is on, return "true" or "false" as text."""
        return str(value).lower() if self.on("text-booleans") else value

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Return a subject id in Apple's format. It is the same for all clients of a team."""
        return f"000517.{fingerprint(f'apple {person.id} {self.team(client_id)}')}.0730"

    def team(self, client_id: str) -> str:
        """Return the team of a client. A removed client counts as a separate team."""
        client = self.world.clients.get(self.name, client_id)
        return (client and client.team_id) or client_id

    # Formats

    def kid(self, digest: bytes) -> str:
        return letters(digest[:10])

    def new_code(self) -> str:
        """Return `c`, 32 hexadecimal digits, and groups of letters and digits separated by dots."""
        return self._token("c")

    def new_access_token(self) -> str:
        """Return a token in the format of a code, but with `a` at the beginning."""
        return self._token("a")

    def new_refresh_token(self) -> str:
        """Return a token in the format of a code, but with `r` at the beginning."""
        return self._token("r")

    def _token(self, kind: str) -> str:
        return f"{kind}{self.hexadecimal(32)}.0.{self.alphanumeric(4, LOWER)}.{self.alphanumeric(22)}"


def is_public(redirect_uri: str) -> bool:
    """Return whether a redirect URI uses https and a public host name."""
    parts = urlsplit(redirect_uri)
    host = parts.hostname or ""
    return parts.scheme == "https" and not is_loopback(host) and not is_ip_address(host)


def is_ip_address(host: str) -> bool:
    """Return whether a host is an IP address instead of a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
