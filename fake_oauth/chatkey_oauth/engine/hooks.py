"""The points at which the answer to a request can be bent from outside. A request carries its hooks along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.requests import AuthorizationRequest, Callback
    from chatkey_oauth.engine.signing import Draft


class Hooks:
    """Hooks that leave everything as it is; whoever wants to bend something overrides what it takes."""

    @property
    def flow_id(self) -> str | None:
        """The flow that an approval is remembered with, if the request belongs to one."""
        return None

    def instead(self, request: AuthorizationRequest) -> Answer | None:
        """Return what takes the place of the consent page and of the decision. May raise `Refusal`."""
        del request
        return None

    def form_part(self, request: AuthorizationRequest) -> str:
        """Return what the consent form carries beside its own fields, as HTML."""
        del request
        return ""

    def approved(self, person: Person, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the scopes that a person's approval grants."""
        del person
        return scopes

    def callback(self, callback: Callback) -> Callback:
        """Return the way back to the client."""
        return callback

    def token(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the members of the token answer."""
        return body

    def id_token(self, draft: Draft) -> Draft:
        """Return an id_token before it is signed."""
        return draft


UNTOUCHED = Hooks()
"""The hooks of a request that nobody watches."""
