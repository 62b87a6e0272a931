"""Events from the page, the browser, the network and the person, as values without behaviour.

`ref` is the number of the effect that an event answers. With this number, the widget recognises answers to replaced or
cancelled effects.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from chatkey_protocol.frames import CallAction
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.kept_call import KeptCall
from chatkey_widget.keys import PublicKey
from chatkey_widget.timers import Timer
from chatkey_widget.view import Device, DeviceKind, Page


@dataclass(frozen=True, slots=True)
class Started:
    """The page started the widget. `fault` is an error in the page or its configuration, if there is one."""

    secure: bool
    fault: WidgetError | None = None


@dataclass(frozen=True, slots=True)
class KeyReady:
    """The connection key is ready.

    `degraded` says why the key is only in memory. `lost` says why an old key was replaced. `sign_in` and `unsent` are
    what the last page of this tab stored: the data of an unfinished social login, and the messages that were not sent.
    `call` is what it stored of its call.
    """

    key: PublicKey
    cached_token: str | None = field(default=None, repr=False)
    degraded: str | None = None
    lost: str | None = None
    sign_in: str | None = None
    unsent: str | None = field(default=None, repr=False)
    call: KeptCall | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class KeyFailed:
    """This browser cannot provide a key."""

    reason: str


@dataclass(frozen=True, slots=True)
class KeyTimedOut:
    """The browser has not provided a key in time. The next attempt may work."""


@dataclass(frozen=True, slots=True)
class TokenNotStored:
    """The browser did not store the member's token, with this error. The token is only in memory."""

    reason: str


@dataclass(frozen=True, slots=True)
class ConfigurationLoaded:
    """The configuration was loaded: `data` of the endpoint's response (contract 2.2)."""

    data: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ConfigurationFailed:
    """The configuration could not be loaded. `status` is 0 if there was no response."""

    status: int
    code: str | None = None
    message: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class PolicyBlocked:
    """The page's Content-Security-Policy blocked a request to this address because of this directive."""

    address: str
    directive: str


@dataclass(frozen=True, slots=True)
class LocalNetworkBlocked:
    """The browser kept the page from this address, which is on this computer or in the local network."""

    address: str


@dataclass(frozen=True, slots=True)
class TokenLoaded:
    """A token endpoint returned a token (contract 2.6)."""

    ref: int
    token: str = field(repr=False)
    socket_uri: str


@dataclass(frozen=True, slots=True)
class TokenFailed:
    """A token endpoint refused, or did not respond (`status` 0)."""

    ref: int
    status: int
    code: str | None = None
    message: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Unusable:
    """A value from the page that is neither text nor null. `what` describes it in words."""

    what: str


@dataclass(frozen=True, slots=True)
class GetTokenReturned:
    ref: int
    value: str | Unusable | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class GetTokenFailed:
    """The page's `getToken` threw or rejected."""

    ref: int
    reason: str


@dataclass(frozen=True, slots=True)
class GetTokenTimedOut:
    """The page's `getToken` did not settle in time."""

    ref: int


@dataclass(frozen=True, slots=True)
class TurnCame:
    """This tab now holds the lock and may call `getToken`. `stored` is the currently cached token (D-12)."""

    ref: int
    stored: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoredTokenChanged:
    """The cached token changed or was deleted.

    Another tab has logged in or out, or the page came back from the back/forward cache.
    """

    token: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class SocketOpened:
    """The WebSocket is open. The server's `hello` comes next."""

    ref: int


@dataclass(frozen=True, slots=True)
class ProofSigned:
    """The proof was signed. `signature` is the raw r‖s, 64 bytes (RFC 7518 section 3.4)."""

    ref: int
    signature: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class FrameReceived:
    """A frame from the server. It is None if the message was not a JSON object."""

    ref: int
    frame: Mapping[str, object] | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class SocketClosed:
    """The WebSocket closed, with this code."""

    ref: int
    code: int


@dataclass(frozen=True, slots=True)
class TimerFired:
    name: Timer


@dataclass(frozen=True, slots=True)
class Woken:
    """The page became visible, went online or was restored. The connection needs a check."""

    reason: Literal["online", "visible", "pageshow"]


@dataclass(frozen=True, slots=True)
class RefreshAsked:
    """The page's user may have changed, so `getToken` must be called again.

    With `force`, the current member is logged out first.
    """

    force: bool = False


@dataclass(frozen=True, slots=True)
class LogoutAsked:
    """The member logged out in this tab or, with `heard`, in another tab."""

    heard: bool = False


@dataclass(frozen=True, slots=True)
class ShutdownAsked:
    """The page shuts the widget down."""


@dataclass(frozen=True, slots=True)
class SocialClicked:
    """The person clicked a social login button (contract 3, rule 1)."""

    social: str


@dataclass(frozen=True, slots=True)
class PopupBlocked:
    """The browser opened no popup. `in_page` is true if it wanted to open the sign-in in place of the page."""

    ref: int
    in_page: bool = False


@dataclass(frozen=True, slots=True)
class PopupReached:
    """The popup shows another site's page, and this page still has access to the window."""

    ref: int


@dataclass(frozen=True, slots=True)
class PopupClosed:
    """The popup has closed, as far as this page can see. `blank` is true if the popup never showed a page."""

    ref: int
    blank: bool = False


@dataclass(frozen=True, slots=True)
class PopupMessage:
    """A `message` event: its data and origin, and whether the popup sent it."""

    origin: str
    from_popup: bool
    data: object = field(repr=False)


@dataclass(frozen=True, slots=True)
class PanelToggled:
    open: bool


@dataclass(frozen=True, slots=True)
class PageChosen:
    """The person chose another page of the panel."""

    page: Page


@dataclass(frozen=True, slots=True)
class MessageWritten:
    body: str


@dataclass(frozen=True, slots=True)
class SearchAsked:
    """The person searched the conversation. An empty query ends the search."""

    query: str


@dataclass(frozen=True, slots=True)
class OlderAsked:
    """The person asked for older messages."""


@dataclass(frozen=True, slots=True)
class CallAsked:
    """The person started a call or hung up."""

    action: CallAction


@dataclass(frozen=True, slots=True)
class MuteAsked:
    """The person switched the microphone off or on."""

    muted: bool


@dataclass(frozen=True, slots=True)
class PlayAsked:
    """The person pressed the button that plays the sound of the call."""


@dataclass(frozen=True, slots=True)
class DeviceChosen:
    """The person chose another microphone or speaker for the call."""

    kind: DeviceKind
    id: str


@dataclass(frozen=True, slots=True)
class MicrophoneOpened:
    ref: int


@dataclass(frozen=True, slots=True)
class MicrophoneFailed:
    """The call has no microphone."""

    ref: int
    fault: Fault
    reason: str


@dataclass(frozen=True, slots=True)
class CallAnswered:
    """The browser has made its answer to the offer."""

    ref: int
    sdp: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class CallSigned:
    """The proof of the call was signed. `signature` is the raw r‖s, 64 bytes (RFC 7518 section 3.4)."""

    ref: int
    signature: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class CandidateFound:
    """The browser found an ICE candidate after it had made its answer."""

    ref: int
    candidate: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DevicesFound:
    """The browser listed the devices for the call, because they or the choice have changed."""

    ref: int
    devices: tuple[Device, ...]


@dataclass(frozen=True, slots=True)
class DeviceRefused:
    """The browser cannot use the chosen device. The call goes on with the device before it."""

    ref: int
    fault: Fault
    reason: str


SoundState = Literal["connected", "interrupted", "silent", "microphone_lost", "candidate_ignored"]


@dataclass(frozen=True, slots=True)
class SoundChanged:
    """What has become of the sound. `silent` means that the browser may not play it before a click.

    With `candidate_ignored`, the browser could not read a candidate of the other side.
    """

    ref: int
    state: SoundState


@dataclass(frozen=True, slots=True)
class SoundInspected:
    """The answer to `InspectSound`: whether the browser keeps the call from candidates in the local network."""

    ref: int
    blocked: bool


@dataclass(frozen=True, slots=True)
class NoticeDismissed: ...


StartEvent = Started | KeyReady | KeyFailed | KeyTimedOut
ServiceEvent = (
    ConfigurationLoaded
    | ConfigurationFailed
    | PolicyBlocked
    | LocalNetworkBlocked
    | TokenLoaded
    | TokenFailed
    | SocketOpened
    | ProofSigned
    | FrameReceived
    | SocketClosed
)
GetTokenEvent = TurnCame | GetTokenReturned | GetTokenFailed | GetTokenTimedOut | RefreshAsked
SignInEvent = (
    SocialClicked | PopupBlocked | PopupReached | PopupClosed | PopupMessage | LogoutAsked | StoredTokenChanged
)
ScreenEvent = (
    PanelToggled
    | PageChosen
    | MessageWritten
    | SearchAsked
    | OlderAsked
    | CallAsked
    | MuteAsked
    | PlayAsked
    | DeviceChosen
    | NoticeDismissed
)
SoundEvent = (
    MicrophoneOpened
    | MicrophoneFailed
    | CallAnswered
    | CallSigned
    | CandidateFound
    | DevicesFound
    | DeviceRefused
    | SoundChanged
    | SoundInspected
)
MachineEvent = TokenNotStored | TimerFired | Woken | ShutdownAsked

Event = StartEvent | ServiceEvent | GetTokenEvent | SignInEvent | ScreenEvent | SoundEvent | MachineEvent
"""All events. Each belongs to one of these groups. `machine.py` passes each group to one handler."""
