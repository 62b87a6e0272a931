"""Interfaces to the outside world. `browser/` implements them for the page, and tests implement them, too."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from chatkey_widget.effects import Reason
from chatkey_widget.errors import Fault
from chatkey_widget.events import SoundState, Unusable
from chatkey_widget.keys import PublicKey
from chatkey_widget.view import Device, DeviceKind, View


class Unreachable(Exception):
    """There was no response. The message says what was tried."""


class LocalNetworkBlocked(Unreachable):
    """The browser keeps the page from an address on this computer or in the local network."""


class KeyUnavailable(Exception):
    """The browser cannot create a key. The message says why."""


class HostFailed(Exception):
    """A function of the page threw an error or rejected. The message is the reason that the function gave."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The connection key. `degraded` says why the key is only in memory. `lost` says why an old key was replaced."""

    key: PublicKey
    degraded: str | None = None
    lost: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response. If the body was not JSON, `body` is None. `retry_after` is in seconds."""

    status: int
    body: object
    retry_after: float | None = None


class Keys(Protocol):
    """The connection key (contract 2.3, 5.5, D-04)."""

    async def prepare(self) -> Prepared: ...

    async def sign(self, data: bytes) -> bytes:
        """Sign with ES256, and return the signature (raw r‖s, 64 bytes)."""
        ...


class Store(Protocol):
    """The cached member token of this provider (contract 2.8), and the messages to other tabs about a logout."""

    def keep_in_memory(self) -> None:
        """Store nothing from now on. The key is only in memory, so no other page could use a token for this key."""
        ...

    def read(self) -> str | None: ...

    def write(self, token: str) -> str | None:
        """Cache the token. If the browser refuses, keep the token in memory and return the browser's reason."""
        ...

    def drop(self, token: str) -> None:
        """Delete this token from the cache. If the cache contains a different token, that token stays."""
        ...

    def announce_logout(self) -> None:
        """Delete any cached token, including a token that this tab does not know. Notify the other tabs."""
        ...

    def is_signed_out(self) -> bool:
        """Return whether a logout in any tab was the last thing that happened to a member token."""
        ...

    def sign_in(self) -> str | None:
        """Return the data of an unfinished social login that an earlier page of this tab stored."""
        ...

    def keep_sign_in(self, sign_in: str | None) -> None:
        """Store the data for the next page of this tab if the browser allows it. None deletes the data."""
        ...

    def call(self) -> str | None:
        """Return what an earlier page of this tab stored of its call."""
        ...

    def keep_call(self, call: str | None) -> None:
        """Store the call for the next page of this tab if the browser allows it. None deletes it."""
        ...

    def unsent(self) -> str | None:
        """Return the messages that an earlier page of this tab could not send."""
        ...

    def keep_unsent(self, unsent: str | None) -> None:
        """Store the messages for the next page of this tab if the browser allows it. None deletes them."""
        ...


class Http(Protocol):
    """GET requests without credentials."""

    async def get(self, url: str) -> Answer:
        """Send the request and wait for its response. Raises `Unreachable`, or `LocalNetworkBlocked`."""
        ...


class Locks(Protocol):
    """Named locks. In one browser, a lock has only one holder."""

    def hold(self, name: str, patience: float | None = None) -> AbstractAsyncContextManager[None]:
        """Wait for the lock, and hold it until the block ends.

        After `patience` seconds, the lock is taken from its current holder.
        """
        ...

    async def claim(self, name: str) -> bool:
        """Take the lock and hold it until the page ends. Returns False if another page has the lock."""
        ...


class Wire(Protocol):
    def send(self, text: str) -> None: ...

    def close(self, code: int) -> None:
        """Close the socket. The socket's listener is not called again."""
        ...


@dataclass(frozen=True, slots=True)
class WireListener:
    """Callbacks of a WebSocket. `received` gets None for a message that is not text.

    `blocked` is called before `closed` if the browser kept the page from the local network.
    """

    opened: Callable[[], None]
    blocked: Callable[[], None]
    received: Callable[[str | None], None]
    closed: Callable[[int], None]


class Wires(Protocol):
    def open(self, uri: str, listener: WireListener) -> Wire:
        """Begin to open a WebSocket with subprotocol `wf.v1`."""
        ...


@dataclass(frozen=True, slots=True)
class PopupListener:
    """Callbacks of the sign-in window.

    `reached` is called when the window shows another site's page and this page still has access to the window. `closed`
    is called when the window is gone. Its argument says whether the window never showed a page.
    """

    reached: Callable[[], None]
    closed: Callable[[bool], None]


Opened = Literal["window", "nothing", "page"]
"""What the browser opened for a sign-in. With `page`, it was about to replace the page, and was stopped."""


class Popups(Protocol):
    """The sign-in window. There is at most one."""

    def open(self, url: str, name: str, listener: PopupListener) -> Opened:
        """Open the window at once, in place of an earlier window with this name. Return what the browser did."""
        ...

    def close(self) -> None:
        """Close the window and stop watching it."""
        ...


class MicrophoneRefused(Exception):
    """The browser gives the call no microphone. `fault` says why."""

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class SoundListener:
    """Callbacks of a call's sound: a change of its state, an ICE candidate that was found later, and the devices."""

    changed: Callable[[SoundState], None]
    found: Callable[[str], None]
    listed: Callable[[tuple[Device, ...]], None]


class CallSound(Protocol):
    """The microphone and the connection of one call. There is at most one."""

    async def open_microphone(self, listener: SoundListener, microphone: str, speaker: str) -> None:
        """Ask for the microphone, the chosen one if it is there. Raises `MicrophoneRefused`."""
        ...

    async def answer(self, sdp: str, configuration: Mapping[str, object]) -> str | None:
        """Make the answer to an offer, or return None if a newer offer came. The microphone is silent until `send`."""
        ...

    async def add_candidate(self, candidate: str) -> None: ...

    def send(self, *, on: bool) -> None:
        """Let the sound of the microphone into the call, or stop it."""
        ...

    async def use(self, kind: DeviceKind, device_id: str) -> None:
        """Use another microphone or speaker. Raises `MicrophoneRefused`."""
        ...

    def play(self) -> None:
        """Try again to play the other side's sound."""
        ...

    async def is_blocked(self) -> bool:
        """Return whether the browser keeps the call from the other side's candidates in the local network."""
        ...

    def close(self) -> None:
        """Close the connection and the microphone."""
        ...


class Host(Protocol):
    async def get_token(self, jkt: str, reason: Reason, attempt: int) -> str | Unusable | None:
        """Call the page's `getToken`. If this call is cancelled, the `signal` that the page received is aborted.

        Raises `HostFailed`.
        """
        ...

    def emit(self, name: str, detail: Mapping[str, object]) -> None: ...


class Screen(Protocol):
    def show(self, view: View) -> None: ...

    def give_back(self, text: str) -> None:
        """Put a text that was not sent back into the message box, after the text that is there."""
        ...

    def remove(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Ports:
    """All ports. `now` returns the page's time in seconds since the epoch. `release` removes the event listeners."""

    keys: Keys
    store: Store
    http: Http
    locks: Locks
    wires: Wires
    popups: Popups
    host: Host
    screen: Screen
    sound: CallSound
    now: Callable[[], float]
    release: Callable[[], None]
