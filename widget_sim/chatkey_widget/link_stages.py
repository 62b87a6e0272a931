"""How far the link to the service has come: each stage is a value that has what belongs to it, and nothing else."""

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
    """Nothing is under way; `principal` is whom it was about last."""

    name: ClassVar[str] = "idle"
    principal: Principal | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """Given up, until the person or the page wants it otherwise."""

    name: ClassVar[str] = "stopped"
    principal: Principal | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """The last attempt failed; the timer `reconnect` runs."""

    name: ClassVar[str] = "waiting"
    principal: Principal


@dataclass(frozen=True, slots=True)
class Loading:
    """A token is awaited; where the page's backend made it, the socket's address.

    `ref` is what answers to this attempt carry. `woken`: the page woke up during it, so that it may fail for what was
    before.
    """

    name: ClassVar[str] = "loading"
    principal: Principal
    ref: int
    woken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OnSocket:
    """What all stages with a socket have: whom it is for, and with which token.

    `complaint` is what the server said of the connection itself, which tells why it closes it then.
    """

    principal: Principal
    ref: int
    token: str = field(repr=False)
    complaint: Refused | None = None

    @property
    def newer_token(self) -> str | None:
        """The token that the page brought while an older one was being judged."""
        principal = self.principal
        return principal.token if isinstance(principal, Custom) and principal.token != self.token else None

    def refused(self, code: int) -> Refused:
        """Say why the server closed the socket with this code."""
        if code == Close.TOKEN_EXPIRED:
            return Refused(Code.TOKEN_EXPIRED, "")
        return self.complaint or Refused(Fault.SOCKET_REFUSED, f"The server closed the socket with {code}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening(OnSocket):
    """The socket opens at `uri`."""

    name: ClassVar[str] = "opening"
    uri: str
    woken: bool

    def opened(self) -> Greeting:
        """Return the next stage."""
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
    """It is open; the server's `hello` is awaited."""

    name: ClassVar[str] = "greeting"
    uri: str
    woken: bool

    def greeted(self, proof: Proof, *, token: str, ping: float) -> Proving:
        """Return the next stage; `token` is the one that the proof is about."""
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
    """The proof is signed and sent; the server's `ready` is awaited. `ping` is what `hello` asked for, in seconds."""

    name: ClassVar[str] = "proving"
    proof: Proof
    ping: float
    woken: bool

    def accepted(self, now: float) -> Ready:
        """Return the next stage; heartbeats count from `now`."""
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
    """Connected. `beat_at` is when the last heartbeat was due.

    `awaiting`: a frame was sent that the server answers, and nothing was heard since. `refreshing`: a newer token of
    our own endpoints is on its way.
    """

    name: ClassVar[str] = "ready"
    ping: float
    beat_at: float
    awaiting: bool = False
    refreshing: bool = False

    def is_overdue(self, now: float) -> bool:
        """Tell whether the heartbeat is so late that the page must have slept."""
        return now - self.beat_at > self.ping + OVERDUE_SECONDS


Attempt = Loading | Opening | Greeting | Proving
"""The stages of one attempt to connect."""

Stage = Idle | Stopped | Waiting | Attempt | Ready
