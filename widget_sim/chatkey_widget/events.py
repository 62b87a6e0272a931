"""What the widget is told: by the page, the browser, the network and the person. All values, no behaviour.

`ref` names the effect that an event answers; an answer that nobody awaits any more is known by it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from chatkey_protocol.frames import CallAction
from chatkey_widget.errors import WidgetError
from chatkey_widget.keys import PublicKey
from chatkey_widget.timers import Timer
from chatkey_widget.view import Page


@dataclass(frozen=True, slots=True)
class Started:
    """The page asked for the widget. `fault` is what is wrong with the page or its configuration, if anything."""

    secure: bool
    fault: WidgetError | None = None


@dataclass(frozen=True, slots=True)
class KeyReady:
    """The connection key is there. `degraded` says why it is in memory only; `lost` why an old one was replaced.

    `sign_in` is what the last page of this tab kept of a social login that was under way.
    """

    key: PublicKey
    cached_token: str | None = field(default=None, repr=False)
    degraded: str | None = None
    lost: str | None = None
    sign_in: str | None = None


@dataclass(frozen=True, slots=True)
class KeyFailed:
    """No key can be had in this browser."""

    reason: str


@dataclass(frozen=True, slots=True)
class TokenNotStored:
    """The browser refused to cache the member's token, by this error: it is in memory only."""

    reason: str


@dataclass(frozen=True, slots=True)
class ConfigurationLoaded:
    """The `data` of the configuration endpoint (contract 2.2)."""

    data: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ConfigurationFailed:
    """The configuration could not be had. `status` is 0 when nothing answered."""

    status: int
    code: str | None = None
    message: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class PolicyBlocked:
    """The page's Content-Security-Policy kept a request to this address from being made, by this directive."""

    address: str
    directive: str


@dataclass(frozen=True, slots=True)
class TokenLoaded:
    """A token endpoint answered (contract 2.6)."""

    ref: int
    token: str = field(repr=False)
    socket_uri: str


@dataclass(frozen=True, slots=True)
class TokenFailed:
    """A token endpoint refused, or did not answer (`status` 0)."""

    ref: int
    status: int
    code: str | None = None
    message: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Unusable:
    """A value from the page that is neither text nor null; `what` describes it for people."""

    what: str


@dataclass(frozen=True, slots=True)
class GetTokenReturned:
    """The page's `getToken` settled."""

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
    """It is this tab's turn to call `getToken`; `stored` is the token that is cached by now (D-12)."""

    ref: int
    stored: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoredTokenChanged:
    """The cached token is now another one, or gone: another tab logged in or out, or bfcache."""

    token: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class SocketOpened:
    """The WebSocket is open; the server's `hello` is awaited."""

    ref: int


@dataclass(frozen=True, slots=True)
class ProofSigned:
    """The signature of the proof: raw r‖s, 64 bytes (RFC 7518 section 3.4)."""

    ref: int
    signature: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class FrameReceived:
    """A frame of the server; None when it was no JSON object."""

    ref: int
    frame: Mapping[str, object] | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class SocketClosed:
    """The WebSocket is closed, by code."""

    ref: int
    code: int


@dataclass(frozen=True, slots=True)
class TimerFired:
    """A timer of this name came due."""

    name: Timer


@dataclass(frozen=True, slots=True)
class Woken:
    """The page is visible, online or back again: look whether everything still stands."""

    reason: Literal["online", "visible", "pageshow"]


@dataclass(frozen=True, slots=True)
class RefreshAsked:
    """The page's user may have changed: ask `getToken` again. With `force` whoever is here now leaves before."""

    force: bool = False


@dataclass(frozen=True, slots=True)
class LogoutAsked:
    """The member logs out, here or (`heard`) in another tab."""

    heard: bool = False


@dataclass(frozen=True, slots=True)
class ShutdownAsked:
    """The page takes the widget away."""


@dataclass(frozen=True, slots=True)
class SocialClicked:
    """The person pressed a social button (contract 3, rule 1)."""

    social: str


@dataclass(frozen=True, slots=True)
class PopupBlocked:
    """The browser opened no popup."""

    ref: int


@dataclass(frozen=True, slots=True)
class PopupReached:
    """Another site's page is in the popup, and the page can still see the popup."""

    ref: int


@dataclass(frozen=True, slots=True)
class PopupClosed:
    """The popup is gone, as far as the page can see; `blank`: before any page had come."""

    ref: int
    blank: bool = False


@dataclass(frozen=True, slots=True)
class PopupMessage:
    """A `message` event: where it came from, and whether its source is the popup that was opened."""

    origin: str
    from_popup: bool
    data: object = field(repr=False)


@dataclass(frozen=True, slots=True)
class PanelToggled:
    """The person opened or closed the panel."""

    open: bool


@dataclass(frozen=True, slots=True)
class PageChosen:
    """The person turned to another page of the panel."""

    page: Page


@dataclass(frozen=True, slots=True)
class MessageWritten:
    """The person sent a message."""

    body: str


@dataclass(frozen=True, slots=True)
class SearchAsked:
    """The person searches the conversation; an empty query ends the search."""

    query: str


@dataclass(frozen=True, slots=True)
class OlderAsked:
    """The person wants to see older messages."""


@dataclass(frozen=True, slots=True)
class CallAsked:
    """The person calls, or hangs up."""

    action: CallAction


@dataclass(frozen=True, slots=True)
class NoticeDismissed:
    """The person has read the notice."""


StartEvent = Started | KeyReady | KeyFailed
ServiceEvent = (
    ConfigurationLoaded
    | ConfigurationFailed
    | PolicyBlocked
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
ScreenEvent = PanelToggled | PageChosen | MessageWritten | SearchAsked | OlderAsked | CallAsked | NoticeDismissed
MachineEvent = TokenNotStored | TimerFired | Woken | ShutdownAsked

Event = StartEvent | ServiceEvent | GetTokenEvent | SignInEvent | ScreenEvent | MachineEvent
"""Every event is in one of these groups, and each group is one part's to handle: see `machine.py`."""
