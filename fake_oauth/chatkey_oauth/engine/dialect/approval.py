"""The consent page and the callback: the person's choices, the granted scopes, and the parameters for the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from chatkey_oauth.engine.dialect.common import Common

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatkey_oauth.engine.grants import Grant
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest


class ApprovalDialect(Common):
    """The questions on the consent page, and the callback that reports the decision."""

    declinable: ClassVar[frozenset[str]] = frozenset()
    """Scopes that a person may deselect while approving the other scopes."""
    refreshes: ClassVar[bool] = True
    """Whether the provider issues refresh tokens."""
    error_heading: ClassVar[str] = "Access blocked"
    error_lead: ClassVar[str] = ""
    """Text that starts the message of every error page."""
    fragment: ClassVar[str] = ""
    """The fragment that is appended to the URL of a callback after an approval. It begins with `#`."""

    def choices(self, request: AuthorizationRequest) -> str:
        """Return the HTML of further choices on the consent page."""
        del request
        return ""

    def settle(self, request: AuthorizationRequest, person: Person, form: Mapping[str, str]) -> dict[str, str]:
        """Apply the choices in the consent form. The returned values are stored with the first approval."""
        del request, person, form
        return {}

    def may_decline(self, request: AuthorizationRequest) -> frozenset[str]:
        """Return the scopes that a person may deselect while approving the other scopes."""
        del request
        return self.declinable

    def granted_scopes(self, request: AuthorizationRequest, person: Person, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the scopes that the provider grants after a person approved `scopes`."""
        del request, person
        return scopes

    def refreshable(self, request: AuthorizationRequest, *, first: bool) -> bool:
        """Return whether the code yields a refresh token.

        `first` is true if this person has never approved this client before.
        """
        del request, first
        return self.refreshes

    def approved_params(self, request: AuthorizationRequest, grant: Grant, *, first: bool) -> dict[str, str]:
        """Return the parameters of an approval in addition to `code` and `state`.

        `first` is true if this person has never approved this client before.
        """
        del request, grant, first
        return {}

    def denied_params(self) -> dict[str, str]:
        """Return the callback's parameters if the person declines."""
        return {"error": "access_denied"}

    def fault_params(self, error: str, description: str) -> dict[str, str]:
        """Return the callback's parameters for an invalid request."""
        return {"error": error, "error_description": description}

    def callback(self, params: Mapping[str, str], query: Mapping[str, str]) -> dict[str, str]:
        """Return all parameters of the callback in the provider's order, including the `state` of the request, if there
        is one.
        """
        state = {"state": query["state"]} if "state" in query else {}
        return {**params, **state, **self.callback_extras()}

    def callback_extras(self) -> dict[str, str]:
        """Return parameters that every callback has, such as `iss` (RFC 9207)."""
        return {}
