"""The authorization request: what has to be in it, and what happens to a faulty one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from chatkey_oauth.engine.clients import check_nothing_signed, check_redirect_uris
from chatkey_oauth.engine.dialect.common import Common
from chatkey_oauth.engine.refusals import Refusal, ShownToPerson

if TYPE_CHECKING:
    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.requests import AuthorizationRequest


ASKING: Final = frozenset({"consent", "login", "select_account"})
"""The values of `prompt` with which a page is shown."""


class RequestDialect(Common):
    """Which applications there are, and which of their requests a person gets to see."""

    client_parameter: ClassVar[str] = "client_id"
    hint: ClassVar[str] = "login_hint"
    default_scope: ClassVar[str | None] = None
    """What is granted when no scope is asked for; None: the parameter is required."""
    scope_required: ClassVar[bool] = False
    """Whether a scope that is missing or empty is a missing parameter like any other."""
    strict_scopes: ClassVar[bool] = False
    """Whether a scope that is not among `scopes` is refused."""
    challenge_methods: ClassVar[tuple[str, ...]] = ("S256",)
    response_types: ClassVar[tuple[str, ...]] = ("code",)
    response_modes: ClassVar[tuple[str, ...]] = ("query",)
    response_type_required: ClassVar[bool] = True
    redirect_uri_required: ClassVar[bool] = True
    """Whether `redirect_uri` must be there, here and at the token endpoint; where not, the first registered counts."""
    required_params: ClassVar[tuple[str, ...]] = ()
    """Parameters that must be there although elsewhere they need not."""

    @classmethod
    def check_client(cls, client: Client) -> None:
        """Refuse an application that could not be registered at this provider. Raises `ClientError`."""
        check_redirect_uris(client)
        check_nothing_signed(client)

    def client_refused(self, client_id: str | None) -> Refusal:
        """What happens to an unknown client: a page."""
        what = f"No application is registered as {client_id!r}." if client_id else "Missing parameter: client_id."
        return ShownToPerson(400, "invalid_client", what)

    def redirect_allowed(self, client: Client, uri: str) -> bool:
        """Compare a redirect URI with the registered ones, exactly."""
        return uri in client.redirect_uris

    def redirect_refused(self, client: Client, call: Call) -> Refusal:
        """What happens to a redirect URI that is not registered: a page, never a redirect to it."""
        del client, call
        return ShownToPerson(400, "redirect_uri_mismatch", "The redirect URI is not registered for this application.")

    def shows_fault(self, error: str) -> bool:
        """Whether a fault of the request is shown to the person even where a redirect would be safe."""
        del error
        return False

    def check_request(self, request: AuthorizationRequest) -> None:
        """Refuse what only this provider refuses in a request that is sound otherwise. Raises `Refusal`."""
        del request

    def needs_challenge(self, client: Client) -> bool:
        """Whether this client must use PKCE; a public one must everywhere."""
        return client.is_public

    def ignores_challenge(self) -> bool:
        """Whether PKCE is unknown to the provider."""
        return False

    def comparison(self, client: Client, method: str) -> str:
        """How a challenge of this method is compared: a name of `pkce.FORMS`."""
        del client
        return method

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """Whether someone who already approved is sent back without a page."""
        return request.client.remember_approval and not self.asks_anew(request)

    def asks_anew(self, request: AuthorizationRequest) -> bool:
        """Whether the client wants the page to be shown even to someone who approved (OpenID Connect Core 3.1.2.1)."""
        return not ASKING.isdisjoint(request.query.get("prompt", "").split())

    def page_refused(self, request: AuthorizationRequest, *, signed_in: bool) -> str | None:
        """The error of a request that forbids asking the person; `signed_in`: who it is would be known."""
        del request, signed_in
        return None
