"""What the widget wants done. All values; `runtime.py` does it and reports back with the events that name the `ref`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from chatkey_widget.timers import Timer
from chatkey_widget.view import View

Reason = Literal["load", "renew", "refresh", "rejected"]
"""Why `getToken` is called: no token yet, the token ends soon, the page asked, or the last one was refused."""


@dataclass(frozen=True, slots=True)
class PrepareKey:
    """Read or make the connection key, and read the cached token beside it."""


@dataclass(frozen=True, slots=True)
class LoadConfiguration:
    """Ask the configuration endpoint."""


@dataclass(frozen=True, slots=True)
class LoadVisitorToken:
    """Ask the visitor token endpoint."""

    ref: int
    uid: str


@dataclass(frozen=True, slots=True)
class ExchangeIdentityToken:
    """Ask the member token endpoint (contract 4.3)."""

    ref: int
    token: str = field(repr=False)
    jkt: str


@dataclass(frozen=True, slots=True)
class AwaitTurn:
    """Wait until it is this tab's turn to call `getToken`; one tab of the browser has it at a time (D-12).

    A tab that has it for longer than `patience` seconds is taken for frozen, and loses it.
    """

    ref: int
    patience: float


@dataclass(frozen=True, slots=True)
class CallGetToken:
    """Call the page's `getToken` in the turn that has come; a turn in which nothing is called is over at once."""

    ref: int
    jkt: str
    reason: Reason
    attempt: int


@dataclass(frozen=True, slots=True)
class AbortGetToken:
    """Give the turn up, and tell the page's `getToken` that its result is no longer wanted."""

    ref: int


@dataclass(frozen=True, slots=True)
class StoreToken:
    """Cache the member's token (contract 2.8, D-06)."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DropToken:
    """Delete this token from the cache, unless another tab has put another in its place."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AnnounceLogout:
    """Delete whatever token is cached, and tell the other tabs."""


@dataclass(frozen=True, slots=True)
class KeepSignIn:
    """Keep what the next page of this tab needs to know of the social login under way; None: there is none."""

    sign_in: str | None


@dataclass(frozen=True, slots=True)
class OpenSocket:
    """Open the WebSocket."""

    ref: int
    uri: str


@dataclass(frozen=True, slots=True)
class SignProof:
    """Sign the proof's signing input with the connection key."""

    ref: int
    signing_input: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Send:
    """Send a frame."""

    ref: int
    frame: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class CloseSocket:
    """Close the WebSocket."""

    ref: int
    code: int


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Fire `TimerFired(name)` once, after so many seconds; replaces a timer of the same name."""

    name: Timer
    seconds: float


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """Forget the timer of this name."""

    name: Timer


@dataclass(frozen=True, slots=True)
class OpenPopup:
    """Open the popup, at once: the browser allows it only within the click."""

    ref: int
    url: str


@dataclass(frozen=True, slots=True)
class ClosePopup:
    """Close the popup, or forget it."""

    ref: int


@dataclass(frozen=True, slots=True)
class Emit:
    """Tell the page's listeners."""

    name: str
    detail: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Show:
    """Show this on the screen."""

    view: View


@dataclass(frozen=True, slots=True)
class TearDown:
    """Remove everything from the page: the widget is shut down."""


WireEffect = OpenSocket | SignProof | Send | CloseSocket
"""What is about the socket."""

Effect = (
    PrepareKey
    | LoadConfiguration
    | LoadVisitorToken
    | ExchangeIdentityToken
    | AwaitTurn
    | CallGetToken
    | AbortGetToken
    | StoreToken
    | DropToken
    | AnnounceLogout
    | KeepSignIn
    | WireEffect
    | SetTimer
    | CancelTimer
    | OpenPopup
    | ClosePopup
    | Emit
    | Show
    | TearDown
)
