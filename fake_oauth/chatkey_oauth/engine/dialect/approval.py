"""The pages and the way back: what a person can choose, what is granted, and what the client is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from chatkey_oauth.engine.dialect.common import Common

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatkey_oauth.engine.grants import Grant
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest


class ApprovalDialect(Common):
    """What a person is asked, and how the browser comes back with the decision."""

    declinable: ClassVar[frozenset[str]] = frozenset()
    """Scopes a person may leave out while approving the rest."""
    refreshes: ClassVar[bool] = True
    """Whether there are refresh tokens."""
    error_heading: ClassVar[str] = "Access blocked"
    error_lead: ClassVar[str] = ""
    """What every error page says before it says what is wrong."""
    fragment: ClassVar[str] = ""
    """What stands behind the parameters of an approval, beginning with `#`."""

    def choices(self, request: AuthorizationRequest) -> str:
        """What else a person chooses on the consent page, as HTML."""
        del request
        return ""

    def settle(self, request: AuthorizationRequest, person: Person, form: Mapping[str, str]) -> dict[str, str]:
        """Act on the choices of the consent form; what is returned is kept with a first approval."""
        del request, person, form
        return {}

    def may_decline(self, request: AuthorizationRequest) -> frozenset[str]:
        """The scopes that a person may leave out while approving the rest."""
        del request
        return self.declinable

    def granted_scopes(self, request: AuthorizationRequest, person: Person, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """What of the scopes a person approves is granted."""
        del request, person
        return scopes

    def refreshable(self, request: AuthorizationRequest, *, first: bool) -> bool:
        """Whether the code will bring a refresh token; `first`: this person never approved this client before."""
        del request, first
        return self.refreshes

    def approved_params(self, request: AuthorizationRequest, grant: Grant, *, first: bool) -> dict[str, str]:
        """Parameters beside `code` and `state` when the person approves; `first` as in `refreshable`."""
        del request, grant, first
        return {}

    def denied_params(self) -> dict[str, str]:
        """The callback's parameters when the person declines."""
        return {"error": "access_denied"}

    def fault_params(self, error: str, description: str) -> dict[str, str]:
        """The callback's parameters for a faulty request."""
        return {"error": error, "error_description": description}

    def callback(self, params: Mapping[str, str], query: Mapping[str, str]) -> dict[str, str]:
        """All parameters of a callback in the provider's order, with the `state` of the request if one came."""
        state = {"state": query["state"]} if "state" in query else {}
        return {**params, **state, **self.callback_extras()}

    def callback_extras(self) -> dict[str, str]:
        """Parameters of every callback, such as `iss` (RFC 9207)."""
        return {}
