"""The stages of the connection to the service. Each stage is a value with only the data of that stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from chatkey_protocol.codes import Close, Code
from chatkey_widget.context import OVERDUE_SECONDS
from chatkey_widget.errors import Fault
from chatkey_widget.link_outcomes import Refused
from chatkey_widget.principal import Custom, Principal
from chatkey_widget.proof import Proof


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing is in progress. `principal` is the last principal, if there is one."""

    name: ClassVar[str] = "idle"
    principal: Principal | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """The widget does not try to connect until the person or the page asks for a new attempt."""

    name: ClassVar[str] = "stopped"
    principal: Principal | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """The last attempt failed. The timer `reconnect` is running."""

    name: ClassVar[str] = "waiting"
    principal: Principal


@dataclass(frozen=True, slots=True)
class Loading:
    """Waiting for a token or, if the page's backend made the token, for the address of the socket.

    `ref` identifies the answers to this attempt. If `woken` is true, the page resumed during the attempt, and the
    attempt may fail because the page slept.
    """

    name: ClassVar[str] = "loading"
    principal: Principal
    ref: int
    woken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OnSocket:
    """The data of all stages with a socket: the principal, and the token in use.

    `complaint` is the server's last error about the connection. If the server then closes the socket, the error is the
    reason.
    """

    principal: Principal
    ref: int
    token: str = field(repr=False)
    complaint: Refused | None = None

    @property
    def newer_token(self) -> str | None:
        """A newer token from the page, which was received while the server was checking an older token."""
        principal = self.principal
        return principal.token if isinstance(principal, Custom) and principal.token != self.token else None

    def refused(self, code: int) -> Refused:
        """Return the reason why the server closed the socket with this code."""
        if code == Close.TOKEN_EXPIRED:
            return Refused(Code.TOKEN_EXPIRED, "")
        return self.complaint or Refused(Fault.SOCKET_REFUSED, f"The server closed the socket with {code}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening(OnSocket):
    name: ClassVar[str] = "opening"
    uri: str
    woken: bool

    def opened(self) -> Greeting:
        return Greeting(
            principal=self.principal,
            ref=self.ref,
            token=self.token,
            complaint=self.complaint,
            uri=self.uri,
            woken=self.woken,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting(OnSocket):
    """The socket is open. The server's `hello` comes next."""

    name: ClassVar[str] = "greeting"
    uri: str
    woken: bool

    def greeted(self, proof: Proof, *, token: str, ping: float) -> Proving:
        """Return the next stage. The proof is bound to `token`."""
        return Proving(
            principal=self.principal,
            ref=self.ref,
            token=token,
            complaint=self.complaint,
            proof=proof,
            ping=ping,
            woken=self.woken,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proving(OnSocket):
    """The proof is being signed or sent, and `ready` comes next. `ping` is the interval from `hello`, in seconds."""

    name: ClassVar[str] = "proving"
    proof: Proof
    ping: float
    woken: bool

    def accepted(self, now: float) -> Ready:
        """Return the next stage. Heartbeats are counted from `now`."""
        return Ready(
            principal=self.principal,
            ref=self.ref,
            token=self.token,
            complaint=self.complaint,
            ping=self.ping,
            beat_at=now,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready(OnSocket):
    """Connected. `beat_at` is the time of the last heartbeat.

    If `awaiting` is true, the widget has sent a frame that the server must answer, and has received no frame since. If
    `refreshing` is true, the widget has requested a newer token from the service.
    """

    name: ClassVar[str] = "ready"
    ping: float
    beat_at: float
    awaiting: bool = False
    refreshing: bool = False

    def is_overdue(self, now: float) -> bool:
        """Return whether the heartbeat is so late that the page must have slept."""
        return now - self.beat_at > self.ping + OVERDUE_SECONDS


Attempt = Loading | Opening | Greeting | Proving
"""The stages of one attempt to connect."""

Stage = Idle | Stopped | Waiting | Attempt | Ready
