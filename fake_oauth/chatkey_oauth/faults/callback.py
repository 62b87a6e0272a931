"""Faults of the callback. Clients must check callbacks, since anyone can send a browser to a client's redirect URI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec.structs import replace

from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.refusals import SentBack
from chatkey_oauth.faults.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatkey_oauth.engine.requests import Callback
    from chatkey_oauth.faults.moment import Moment

ErrorCode = Annotated[str, msgspec.Meta(pattern=r"^[\x20-\x7e]{1,100}(?!\n)$", description="The value of `error`.")]
Issuer = Annotated[str, msgspec.Meta(pattern=r"^[\x21-\x7e]{1,300}(?!\n)$", description="The value of `iss`.")]
State = Annotated[
    str | None, msgspec.Meta(description="The value of `state`. Default: the state of the client's newest other flow.")
]
RedirectUri = Annotated[
    str | None, msgspec.Meta(description="Which of the client's redirect URIs is used. Default: the next one.")
]
Scope = Annotated[
    str | None, msgspec.Meta(description="Which scope is left out. Default: the e-mail scope, or else the last one.")
]


class EndedAtOnce(Fault):
    """The base class of faults that end a login with an error.

    A fault that is armed before the consent page skips this page.
    """

    legs = (Leg.AUTHORIZE, Leg.CODE)

    def params(self, at: Moment) -> Mapping[str, str]:
        """Return the parameters that report the error to the client."""
        raise NotImplementedError

    def instead(self, at: Moment) -> SentBack | None:
        """Redirect the browser before the consent page, after the request has been checked."""
        request = at.request
        if request is None:
            return None
        params = at.provider.callback(self.params(at), request.query)
        return SentBack(request.redirect_uri, params, request.response_mode)

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Turn an approval into the error if the fault was armed for an account or on the consent page."""
        if "code" not in callback.params or at.request is None:
            return None
        return replace(callback, params=at.provider.callback(self.params(at), at.request.query), fragment="")


class Cancel(EndedAtOnce):
    """The login is cancelled without asking the person, and reported in the provider's own way."""

    name = "cancel"

    def params(self, at: Moment) -> Mapping[str, str]:
        return at.provider.denied_params()


class Deny(EndedAtOnce):
    """The login is denied with only `error=access_denied` (RFC 6749 4.1.2.1)."""

    name = "deny"

    def params(self, at: Moment) -> Mapping[str, str]:
        return {"error": "access_denied"}


class CallbackError(EndedAtOnce):
    """The login ends with an error from the provider: `server_error`, or the given one."""

    name = "callback-error"
    on_menu = True
    error: ErrorCode = "server_error"

    def params(self, at: Moment) -> Mapping[str, str]:
        return at.provider.fault_params(self.error, "The authorization server failed.")


class MissingScope(Fault):
    """One of the requested scopes is not granted."""

    name = "missing-scope"
    legs = (Leg.CODE,)
    on_menu = True
    left_out: Scope = None

    def grants(self, scopes: tuple[str, ...], at: Moment) -> tuple[str, ...] | None:
        """Return the scopes without `left_out`.

        By default, this is the e-mail scope or, if that was not requested, the last scope.
        """
        by_default = next((scope for scope in scopes if "email" in scope), scopes[-1] if scopes else None)
        left_out = self.left_out or by_default
        return tuple(scope for scope in scopes if scope != left_out) if left_out in scopes else None


class StateDropped(Fault):
    """The callback has no `state`."""

    name = "state-dropped"
    legs = (Leg.CODE,)
    on_menu = True

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        return without(callback, "state")


class StateAltered(Fault):
    """One character of the callback's `state` is changed."""

    name = "state-altered"
    legs = (Leg.CODE,)
    on_menu = True

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Change the character in the middle of `state`.

        Where clients sign `state`, the signature covers this character.
        """
        state = callback.params.get("state")
        if not state:
            return None
        middle = len(state) // 2
        other = "a" if state[middle] != "a" else "b"
        return with_params(callback, state=f"{state[:middle]}{other}{state[middle + 1 :]}")


class StateSwapped(Fault):
    """The callback has the `state` of another flow, as in login CSRF."""

    name = "state-swapped"
    legs = (Leg.CODE,)
    state: State = None

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Use the given `state`.

        If no `state` is given, use the `state` of the client's newest other flow. Without another flow, change nothing.
        """
        other = self.state if self.state is not None else state_of_other_flow(at)
        return with_params(callback, state=other) if other is not None else None


class CodeDropped(Fault):
    """The callback has neither `code` nor `error`."""

    name = "code-dropped"
    legs = (Leg.CODE,)
    on_menu = True

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        return without(callback, "code")


class CodeAltered(Fault):
    """The callback has a `code` that was never issued."""

    name = "code-altered"
    legs = (Leg.CODE,)
    on_menu = True

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Use a `code` that has the right format but was never issued."""
        return with_params(callback, code=at.provider.new_code()) if "code" in callback.params else None


class ErrorAndCode(Fault):
    """The callback has both `error` and `code`."""

    name = "error-and-code"
    legs = (Leg.CODE,)
    on_menu = True
    error: ErrorCode = "access_denied"

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        return with_params(callback, error=self.error) if "code" in callback.params else None


class WrongCallbackIssuer(Fault):
    """The callback's `iss` names another issuer, as in a mix-up attack (RFC 9207). A missing `iss` is added."""

    name = "wrong-callback-iss"
    legs = (Leg.CODE,)
    on_menu = True
    iss: Issuer = "https://issuer.invalid"

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        return with_params(callback, iss=self.iss)


class NoCallbackIssuer(Fault):
    """The callback has no `iss`, although this provider sends it."""

    name = "no-callback-iss"
    legs = (Leg.CODE,)

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        return without(callback, "iss")


class OtherRedirectUri(Fault):
    """The browser is redirected to a redirect URI that is registered for the client but was not requested."""

    name = "other-redirect-uri"
    legs = (Leg.CODE,)
    on_menu = True
    redirect_uri: RedirectUri = None

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Redirect to another registered URI, so that no stranger receives the code."""
        registered = at.request.client.redirect_uris if at.request else ()
        others = [uri for uri in registered if uri != callback.redirect_uri and self.redirect_uri in {None, uri}]
        return replace(callback, redirect_uri=others[0]) if others else None


def with_params(callback: Callback, **params: str) -> Callback:
    return replace(callback, params={**callback.params, **params})


def without(callback: Callback, name: str) -> Callback | None:
    """Return a callback without a parameter, or None if the callback does not have this parameter."""
    if name not in callback.params:
        return None
    return replace(callback, params={key: value for key, value in callback.params.items() if key != name})


def state_of_other_flow(at: Moment) -> str | None:
    """Return the `state` of the newest other flow of the same client."""
    flow = at.flow
    others = [
        other.state
        for other in at.flows.all()
        if flow and other.id != flow.id and (other.provider, other.client_id) == (flow.provider, flow.client_id)
    ]
    return next((state for state in others if state is not None), None)
