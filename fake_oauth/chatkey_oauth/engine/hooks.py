"""Hooks: the points at which a fault of the lab can change a response. Each request has a separate `Hooks` object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest, Callback
    from chatkey_oauth.engine.signing import Draft


class Hooks:
    """Hooks that change nothing. Subclasses override some of the methods."""

    __slots__ = ()

    @property
    def flow_id(self) -> str | None:
        """The id of the request's flow, which is stored with the grant. None if there is no flow."""
        return None

    def instead(self, request: AuthorizationRequest) -> Answer | None:
        """Return a response that replaces the consent page or the handling of the form, or None to replace nothing.

        Raises `Refusal`.
        """
        del request
        return None

    def form_part(self, request: AuthorizationRequest) -> str:
        """Return HTML to add to the consent form."""
        del request
        return ""

    def approved(self, person: Person, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the scopes that a person's approval grants."""
        del person
        return scopes

    def callback(self, callback: Callback) -> Callback:
        """Return the callback that is sent to the client."""
        return callback

    def token(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the members of the token response."""
        return body

    def id_token(self, draft: Draft) -> Draft:
        """Return the unsigned id_token."""
        return draft


UNTOUCHED = Hooks()
"""The hooks of a request that no fault can change, for example while the lab is off."""
