"""Faults of the way back to the client, which anybody could have sent the browser on."""

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
    str | None, msgspec.Meta(description="The value of `state`; that of the client's newest other flow by default.")
]
RedirectUri = Annotated[
    str | None, msgspec.Meta(description="Which of the client's redirect URIs; the next one by default.")
]
Scope = Annotated[str | None, msgspec.Meta(description="Which scope; the one for e-mail, or the last, by default.")]


class EndedAtOnce(Fault):
    """What all faults have in common that end a login with an error, and with no page where they are met in time."""

    legs = (Leg.AUTHORIZE, Leg.CODE)

    def params(self, at: Moment) -> Mapping[str, str]:
        """Return the parameters with which the client is told."""
        raise NotImplementedError

    def instead(self, at: Moment) -> SentBack | None:
        """Send the browser back before the person is asked, once the request is known."""
        request = at.request
        if request is None:
            return None
        params = at.provider.callback(self.params(at), request.query)
        return SentBack(request.redirect_uri, params, request.response_mode)

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Replace an approval on its way back, where the fault was armed for an account or on the page."""
        if "code" not in callback.params or at.request is None:
            return None
        return replace(callback, params=at.provider.callback(self.params(at), at.request.query), fragment="")


class Cancel(EndedAtOnce):
    """The person cancels without being asked, and the client is told in the provider's own way."""

    name = "cancel"

    def params(self, at: Moment) -> Mapping[str, str]:
        """Return what the provider's own button for cancelling sends."""
        return at.provider.denied_params()


class Deny(EndedAtOnce):
    """The login is denied with nothing but `error=access_denied` (RFC 6749 4.1.2.1)."""

    name = "deny"

    def params(self, at: Moment) -> Mapping[str, str]:
        """Return the error without a description."""
        return {"error": "access_denied"}


class CallbackError(EndedAtOnce):
    """The login ends with an error of the provider's: `server_error`, or the one given."""

    name = "callback-error"
    on_menu = True
    error: ErrorCode = "server_error"

    def params(self, at: Moment) -> Mapping[str, str]:
        """Return the error in the members that this provider uses for errors."""
        return at.provider.fault_params(self.error, "The authorization server failed.")


class MissingScope(Fault):
    """Less is granted than was asked for: one scope is left out."""

    name = "missing-scope"
    legs = (Leg.CODE,)
    on_menu = True
    left_out: Scope = None

    def grants(self, scopes: tuple[str, ...], at: Moment) -> tuple[str, ...] | None:
        """Return the scopes without the one given, or without that for e-mail, or without the last."""
        by_default = next((scope for scope in scopes if "email" in scope), scopes[-1] if scopes else None)
        left_out = self.left_out or by_default
        return tuple(scope for scope in scopes if scope != left_out) if left_out in scopes else None


class StateDropped(Fault):
    """The callback comes without `state`."""

    name = "state-dropped"
    legs = (Leg.CODE,)
    on_menu = True

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Leave `state` out of the parameters."""
        return without(callback, "state")


class StateAltered(Fault):
    """One character of the callback's `state` is another."""

    name = "state-altered"
    legs = (Leg.CODE,)
    on_menu = True

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Change the character in the middle of `state`, where a signature covers it."""
        state = callback.params.get("state")
        if not state:
            return None
        middle = len(state) // 2
        other = "a" if state[middle] != "a" else "b"
        return with_params(callback, state=f"{state[:middle]}{other}{state[middle + 1 :]}")


class StateSwapped(Fault):
    """The callback carries the `state` of another flow, as in login CSRF."""

    name = "state-swapped"
    legs = (Leg.CODE,)
    state: State = None

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Replace `state` by the one given, or by that of the client's newest other flow, if there is any."""
        other = self.state if self.state is not None else state_of_other_flow(at)
        return with_params(callback, state=other) if other is not None else None


class CodeDropped(Fault):
    """The callback comes with neither `code` nor `error`."""

    name = "code-dropped"
    legs = (Leg.CODE,)
    on_menu = True

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Leave `code` out of the parameters."""
        return without(callback, "code")


class CodeAltered(Fault):
    """The callback's `code` is one that was never issued."""

    name = "code-altered"
    legs = (Leg.CODE,)
    on_menu = True

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Replace `code` by one of the right format that was never issued."""
        return with_params(callback, code=at.provider.new_code()) if "code" in callback.params else None


class ErrorAndCode(Fault):
    """The callback carries `error` and `code` together."""

    name = "error-and-code"
    legs = (Leg.CODE,)
    on_menu = True
    error: ErrorCode = "access_denied"

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Add `error` to the parameters of an approval."""
        return with_params(callback, error=self.error) if "code" in callback.params else None


class WrongCallbackIssuer(Fault):
    """The callback's `iss` names another issuer, as in a mix-up attack (RFC 9207); added where there is none."""

    name = "wrong-callback-iss"
    legs = (Leg.CODE,)
    on_menu = True
    iss: Issuer = "https://issuer.invalid"

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Set `iss` to another issuer."""
        return with_params(callback, iss=self.iss)


class NoCallbackIssuer(Fault):
    """The callback comes without `iss`, where this provider sends it."""

    name = "no-callback-iss"
    legs = (Leg.CODE,)

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Leave `iss` out of the parameters."""
        return without(callback, "iss")


class OtherRedirectUri(Fault):
    """The browser is sent to another of the client's registered redirect URIs than was asked for."""

    name = "other-redirect-uri"
    legs = (Leg.CODE,)
    on_menu = True
    redirect_uri: RedirectUri = None

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Send the browser to another registered address, so that nothing is sent to strangers."""
        registered = at.request.client.redirect_uris if at.request else ()
        others = [uri for uri in registered if uri != callback.redirect_uri and self.redirect_uri in {None, uri}]
        return replace(callback, redirect_uri=others[0]) if others else None


def with_params(callback: Callback, **params: str) -> Callback:
    """A callback with parameters set anew."""
    return replace(callback, params={**callback.params, **params})


def without(callback: Callback, name: str) -> Callback | None:
    """A callback without a parameter; None if it had none."""
    if name not in callback.params:
        return None
    return replace(callback, params={key: value for key, value in callback.params.items() if key != name})


def state_of_other_flow(at: Moment) -> str | None:
    """The state of the newest other flow of the same client."""
    flow = at.flow
    others = [
        other.state
        for other in at.flows.all()
        if flow and other.id != flow.id and (other.provider, other.client_id) == (flow.provider, flow.client_id)
    ]
    return next((state for state in others if state is not None), None)
