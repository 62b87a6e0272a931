"""What the widget needs of its surroundings, as interfaces: `browser/` has them for real, the tests have their own."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from chatkey_widget.effects import Reason
from chatkey_widget.events import Unusable
from chatkey_widget.keys import PublicKey
from chatkey_widget.view import View


class Unreachable(Exception):
    """Nothing answered; the message says what was tried."""


class KeyUnavailable(Exception):
    """The browser cannot make a key; the message says why."""


class HostFailed(Exception):
    """The page's own function threw or rejected; the message is its reason."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The connection key. `degraded` says why it is in memory only; `lost` why an old one was replaced."""

    key: PublicKey
    degraded: str | None = None
    lost: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer. `body` is None when it was no JSON; `retry_after` is in seconds."""

    status: int
    body: object
    retry_after: float | None = None


class Keys(Protocol):
    """The connection key (contract 2.3, 5.5, D-04)."""

    async def prepare(self) -> Prepared:
        """Read the key, or make it. Raises `KeyUnavailable`."""
        ...

    async def sign(self, data: bytes) -> bytes:
        """Sign with ES256; returns the raw r‖s, 64 bytes."""
        ...


class Store(Protocol):
    """The cached member token of this provider (contract 2.8), and word of logouts to other tabs."""

    def keep_in_memory(self) -> None:
        """From now on store nothing: the key is in memory too, and a token bound to it is of no use elsewhere."""
        ...

    def read(self) -> str | None:
        """Return the cached token."""
        ...

    def write(self, token: str) -> str | None:
        """Cache the token; return the browser's reason when it refuses, and the token is in memory only."""
        ...

    def drop(self, token: str) -> None:
        """Delete this token from the cache; another one that stands in its place stays."""
        ...

    def announce_logout(self) -> None:
        """Delete the cached token, whatever this tab knew of it, and tell the other tabs."""
        ...

    def sign_in(self) -> str | None:
        """Return what an earlier page of this tab kept of a social login under way."""
        ...

    def keep_sign_in(self, sign_in: str | None) -> None:
        """Keep it for the next page of this tab, as far as the browser lets us, or forget it."""
        ...


class Http(Protocol):
    """GET requests without credentials."""

    async def get(self, url: str) -> Answer:
        """Send the request and wait for its answer. Raises `Unreachable`."""
        ...


class Locks(Protocol):
    """One holder per browser and name."""

    def hold(self, name: str, patience: float | None = None) -> AbstractAsyncContextManager[None]:
        """Wait for the lock and hold it while the context lasts; after `patience` seconds, take it from its holder."""
        ...


class Wire(Protocol):
    """A WebSocket."""

    def send(self, text: str) -> None:
        """Send a text message."""
        ...

    def close(self, code: int) -> None:
        """Close the socket; nothing more is heard of it."""
        ...


@dataclass(frozen=True, slots=True)
class WireListener:
    """Who hears of a WebSocket. `received` gets None for what is no text."""

    opened: Callable[[], None]
    received: Callable[[str | None], None]
    closed: Callable[[int], None]


class Wires(Protocol):
    """Opens WebSockets."""

    def open(self, uri: str, listener: WireListener) -> Wire:
        """Begin to open one with subprotocol `wf.v1`."""
        ...


@dataclass(frozen=True, slots=True)
class PopupListener:
    """Who hears of the sign-in window.

    `reached` is called when another site's page is in it and the window can still be seen; `closed` when it is gone,
    with whether it was blank to the end.
    """

    reached: Callable[[], None]
    closed: Callable[[bool], None]


class Popups(Protocol):
    """The sign-in window; there is one at most."""

    def open(self, url: str, listener: PopupListener) -> bool:
        """Open it at once; tell whether the browser did."""
        ...

    def close(self) -> None:
        """Close the window, and hear no more of it."""
        ...


class Host(Protocol):
    """The page that embeds the widget."""

    async def get_token(self, jkt: str, reason: Reason, attempt: int) -> str | Unusable | None:
        """Call the page's `getToken`; cancelled, it fires the page's signal. Raises `HostFailed`."""
        ...

    def emit(self, name: str, detail: Mapping[str, object]) -> None:
        """Tell the page's listeners."""
        ...


class Screen(Protocol):
    """What the person sees."""

    def show(self, view: View) -> None:
        """Draw this view."""
        ...

    def remove(self) -> None:
        """Leave the page as it was."""
        ...


@dataclass(frozen=True, slots=True)
class Ports:
    """All of them. `now` is the page's time in seconds since the epoch; `release` lets go of the page's own events."""

    keys: Keys
    store: Store
    http: Http
    locks: Locks
    wires: Wires
    popups: Popups
    host: Host
    screen: Screen
    now: Callable[[], float]
    release: Callable[[], None]
