"""The authorization request: required parameters, and how invalid requests are handled."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from chatkey_oauth.engine.clients import check_backchannel, check_nothing_signed, check_redirect_uris
from chatkey_oauth.engine.dialect.common import Common
from chatkey_oauth.engine.refusals import Refusal, ShownToPerson

if TYPE_CHECKING:
    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest
    from chatkey_oauth.engine.sessions import Session


ASKING: Final = frozenset({"consent", "login", "select_account"})
"""Values of `prompt` that make the provider show a page."""


COOKIE_PREFIX: Final = "chatkey_fake_"


class RequestDialect(Common):
    """How clients and authorization requests are checked, and when the consent page is shown."""

    client_parameter: ClassVar[str] = "client_id"
    hint: ClassVar[str] = "login_hint"
    default_scope: ClassVar[str | None] = None
    """The scope of a request that names no scope. If this is None, the parameter is required."""
    scope_required: ClassVar[bool] = False
    """Whether a missing or empty scope is reported like any other missing parameter."""
    strict_scopes: ClassVar[bool] = False
    """Whether scopes that are not in `scopes` are refused."""
    challenge_methods: ClassVar[tuple[str, ...]] = ("S256",)
    response_types: ClassVar[tuple[str, ...]] = ("code",)
    response_modes: ClassVar[tuple[str, ...]] = ("query",)
    response_type_required: ClassVar[bool] = True
    redirect_uri_required: ClassVar[bool] = True
    """Whether `redirect_uri` is required, both here and at the token endpoint.

    If it is optional, it defaults to the first registered URI.
    """
    keeps_sessions: ClassVar[bool] = False
    """Whether the provider has sessions. If not, the cookie only stores who signed in last."""
    required_params: ClassVar[tuple[str, ...]] = ()
    """Parameters that this provider requires and other providers do not."""

    @classmethod
    def check_client(cls, client: Client) -> None:
        """Check whether this provider would register an application. If not, raise `ClientError`."""
        check_redirect_uris(client)
        check_backchannel(client)
        check_nothing_signed(client)

    def client_refused(self, client_id: str | None) -> Refusal:
        """Return the refusal of an unknown client. A page shows this refusal."""
        what = f"No application is registered as {client_id!r}." if client_id else "Missing parameter: client_id."
        return ShownToPerson(400, "invalid_client", what)

    def redirect_allowed(self, client: Client, uri: str) -> bool:
        """Return whether a redirect URI is equal to a registered one."""
        return uri in client.redirect_uris

    def redirect_refused(self, client: Client, call: Call) -> Refusal:
        """Return the refusal of an unregistered redirect URI.

        A page shows this refusal. A redirect to the URI would be an open redirect.
        """
        del client, call
        return ShownToPerson(400, "redirect_uri_mismatch", "The redirect URI is not registered for this application.")

    def shows_fault(self, error: str) -> bool:
        """Return whether a page shows the error of an invalid request, even if redirecting would be safe."""
        del error
        return False

    def check_request(self, request: AuthorizationRequest) -> None:
        """Apply this provider's additional checks to an otherwise valid request. Raises `Refusal`."""
        del request

    def needs_challenge(self, client: Client) -> bool:
        """Return whether this client must use PKCE. Every provider requires PKCE of public clients."""
        return client.is_public

    def ignores_challenge(self) -> bool:
        """Return whether the provider ignores PKCE."""
        return False

    def comparison(self, client: Client, method: str) -> str:
        """Return the name in `pkce.FORMS` of the comparison to use for a challenge with this method."""
        del client
        return method

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """Return whether a person who has already approved is redirected without a page."""
        return request.client.remember_approval and not self.asks_anew(request)

    def asks_anew(self, request: AuthorizationRequest) -> bool:
        """Return whether the client asks for the page even if the person has approved before (OpenID Connect Core
        3.1.2.1).
        """
        return not ASKING.isdisjoint(request.query.get("prompt", "").split())

    def page_refused(self, request: AuthorizationRequest, *, signed_in: bool) -> str | None:
        """Return the error for a request that forbids a page, or None.

        `signed_in` is true if the browser has an account.
        """
        del request, signed_in
        return None

    def page_refused_words(self, error: str, client: Client) -> str:
        """Return the `error_description` for a request that forbids a page."""
        del error, client
        return "The request requires interaction with the person."

    def person_refused(self, call: Call, person: Person) -> Refusal | None:
        """Return a refusal if this person may not sign in at the address of the request."""
        del call, person
        return None

    def consent_path(self, call: Call) -> str:
        """Return the path to which the consent form is sent."""
        del call
        return "/consent"

    # Sessions

    def session(self, call: Call) -> Session | None:
        """Return the session of the browser. Providers that keep no sessions have none."""
        return self.sessions.get(call.cookie(COOKIE_PREFIX + self.name)) if self.keeps_sessions else None

    def is_stale(self, request: AuthorizationRequest, session: Session | None) -> bool:
        """Return whether the person must sign in again, because of `max_age` (OpenID Connect Core 3.1.2.1)."""
        age = request.query.get("max_age", "")
        return session is not None and age.isdecimal() and self.now - session.auth_time >= max(int(age), 1)

    def logout_allowed(self, client: Client, uri: str) -> bool:
        """Return whether a logout of this client may lead to this address."""
        return uri in client.post_logout_redirect_uris or client.leads_home(uri)
