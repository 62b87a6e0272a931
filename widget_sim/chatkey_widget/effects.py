"""Actions that the widget requests, as values.

`runtime.py` carries them out, and reports the results as events. A result has the same `ref` as its action.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from chatkey_widget.kept_call import KeptCall
from chatkey_widget.timers import Timer
from chatkey_widget.view import DeviceKind, View

Reason = Literal["load", "renew", "refresh", "rejected"]
"""The reason for a call of `getToken`: no token yet, the token expires soon, the page asked, or the last token was
refused.
"""


@dataclass(frozen=True, slots=True)
class PrepareKey:
    """Read or create the connection key, and read the cached token."""


@dataclass(frozen=True, slots=True)
class LoadConfiguration: ...


@dataclass(frozen=True, slots=True)
class LoadVisitorToken:
    """Request a token from the visitor token endpoint."""

    ref: int
    uid: str


@dataclass(frozen=True, slots=True)
class ExchangeIdentityToken:
    """Request a token from the member token endpoint (contract 4.3)."""

    ref: int
    token: str = field(repr=False)
    jkt: str


@dataclass(frozen=True, slots=True)
class AwaitTurn:
    """Wait until this tab may call `getToken`. Only one tab of the browser may call it at a time (D-12).

    A tab that holds the lock for longer than `patience` seconds is considered frozen, and loses the lock.
    """

    ref: int
    patience: float


@dataclass(frozen=True, slots=True)
class CallGetToken:
    """Call the page's `getToken` while this tab holds the lock.

    If the widget does not request this effect after `TurnCame`, the lock is released at once.
    """

    ref: int
    jkt: str
    reason: Reason
    attempt: int


@dataclass(frozen=True, slots=True)
class AbortGetToken:
    """Release the lock, and notify the page's `getToken` that its result is no longer needed."""

    ref: int


@dataclass(frozen=True, slots=True)
class StoreToken:
    """Cache the member's token (contract 2.8, D-06)."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DropToken:
    """Delete this token from the cache, unless another tab has replaced it."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AnnounceLogout:
    """Delete any cached token, and notify the other tabs."""


@dataclass(frozen=True, slots=True)
class KeepSignIn:
    """Store the data of the current social login for the next page of this tab. None deletes the data."""

    sign_in: str | None


@dataclass(frozen=True, slots=True)
class KeepUnsent:
    """Store the messages that the service does not have yet, for the next page of this tab. None deletes them."""

    unsent: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Put a text that was not sent back into the message box, after the text that is there."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class OpenSocket:
    ref: int
    uri: str


@dataclass(frozen=True, slots=True)
class SignProof:
    """Sign the proof's signing input with the connection key."""

    ref: int
    signing_input: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Send:
    ref: int
    frame: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class CloseSocket:
    ref: int
    code: int


@dataclass(frozen=True, slots=True)
class OpenMicrophone:
    """Ask the person for the microphone, and keep it closed to the call until `SendSound`.

    `microphone` and `speaker` are the devices that the person chose on an earlier page. If one is gone, the browser
    uses another.
    """

    ref: int
    microphone: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class AnswerOffer:
    """Connect the sound: answer this offer. `configuration` is the one of `RTCPeerConnection`."""

    ref: int
    sdp: str = field(repr=False)
    configuration: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class SignCall:
    """Sign the signing input of a call's proof with the connection key."""

    ref: int
    signing_input: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AddCandidate:
    candidate: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SendSound:
    """Let the sound of the microphone into the call, or stop it."""

    on: bool


@dataclass(frozen=True, slots=True)
class UseDevice:
    """Use another microphone or speaker for the call."""

    ref: int
    kind: DeviceKind
    id: str


@dataclass(frozen=True, slots=True)
class PlaySound:
    """Play the sound of the other side. A browser that refuses allows it within a click."""


@dataclass(frozen=True, slots=True)
class InspectSound:
    """Find out whether the browser keeps the call from the other side's candidates in the local network."""

    ref: int


@dataclass(frozen=True, slots=True)
class CloseSound:
    """Close the connection and the microphone of the call at once."""


@dataclass(frozen=True, slots=True)
class KeepCall:
    """Store what the next page of this tab needs of the call. None deletes it."""

    kept: KeptCall | None


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Fire `TimerFired(name)` once, after this many seconds. A timer of the same name is replaced."""

    name: Timer
    seconds: float


@dataclass(frozen=True, slots=True)
class CancelTimer:
    name: Timer


@dataclass(frozen=True, slots=True)
class OpenPopup:
    """Open the popup at once. Browsers allow this only within the click.

    The browser reuses a window with the same `name`, even that of another tab.
    """

    ref: int
    url: str
    name: str


@dataclass(frozen=True, slots=True)
class ClosePopup:
    ref: int


@dataclass(frozen=True, slots=True)
class Emit:
    """Notify the page's listeners of an event."""

    name: str
    detail: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Show:
    view: View


@dataclass(frozen=True, slots=True)
class TearDown:
    """Remove the widget from the page, because it is shut down."""


WireEffect = OpenSocket | SignProof | Send | CloseSocket
"""The effects on the socket."""

SoundEffect = (
    OpenMicrophone
    | AnswerOffer
    | SignCall
    | AddCandidate
    | SendSound
    | UseDevice
    | PlaySound
    | InspectSound
    | CloseSound
)
"""The effects on the sound of a call."""

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
    | KeepUnsent
    | KeepCall
    | SoundEffect
    | GiveBack
    | WireEffect
    | SetTimer
    | CancelTimer
    | OpenPopup
    | ClosePopup
    | Emit
    | Show
    | TearDown
)
