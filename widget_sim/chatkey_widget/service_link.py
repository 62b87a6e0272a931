"""One connection to the service, held for one principal: token, socket, proof, heartbeat, refresh, reconnect (D-10)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from chatkey_protocol.codes import Close, Code
from chatkey_protocol.frames import Kind
from chatkey_widget import proof, tokens
from chatkey_widget.backoff import CROWD_BASE, full_jitter
from chatkey_widget.context import OVERDUE_SECONDS, Context
from chatkey_widget.effects import CloseSocket, ExchangeIdentityToken, LoadVisitorToken, OpenSocket, Send, SignProof
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.events import TokenFailed, TokenLoaded
from chatkey_widget.frame_members import UnreadableFrame, number, text
from chatkey_widget.principal import Custom, Principal, Social, Visitor, identity

REFRESH_SECONDS: Final = 50.0
"""Contract 2.6: tokens of our endpoints are refreshed about this often."""

CONNECT_SECONDS: Final = 10.0
"""How long each step of connecting may take before it counts as failed."""

PROBE_SECONDS: Final = 5.0
"""How long the server may take to answer a ping after the page woke up."""

STABLE_SECONDS: Final = 60.0
"""A connection that lasted this long wipes out earlier failures."""

MISSED_BEATS: Final = 2
UNREACHABLE_AFTER: Final = 3
REFUSALS_BORNE: Final = 2

TERMINAL: Final = frozenset({Code.PROVIDER_UNKNOWN, Code.PROVIDER_OFF, Code.ORIGIN_NOT_ALLOWED, Code.INSECURE_ORIGIN})
"""Refusals that no other token and no other identity would change."""

_REFUSALS: Final = frozenset({Close.TOKEN, Close.FORBIDDEN, Close.TOKEN_EXPIRED})
_CROWD: Final = frozenset({Close.RESTART, Close.TRY_LATER})
_TIMERS: Final = ("connect", "heartbeat", "probe", "reconnect", "refresh", "stable")


class Stage(StrEnum):
    """How far the connection has come."""

    IDLE = "idle"
    LOADING = "loading"
    OPENING = "opening"
    GREETING = "greeting"
    PROVING = "proving"
    READY = "ready"
    WAITING = "waiting"
    STOPPED = "stopped"


_WITH_SOCKET: Final = frozenset({Stage.OPENING, Stage.GREETING, Stage.PROVING, Stage.READY})


@dataclass(frozen=True, slots=True)
class Established:
    """The server accepted the principal."""

    uid: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The server will not have the principal with this token."""

    code: str
    message: str

    @property
    def terminal(self) -> bool:
        """Whether another identity would be refused just the same."""
        return self.code in TERMINAL

    @property
    def expired(self) -> bool:
        """Whether the token merely ended."""
        return self.code == Code.TOKEN_EXPIRED


@dataclass(frozen=True, slots=True)
class Reauth:
    """The server asks for a newer token, which only the page's backend can make."""


Outcome = Established | Refused | Reauth | None


class ServiceLink:
    """Connects the principal, and keeps it connected."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.principal: Principal | None = None
        self.stage = Stage.IDLE
        self.socket_uri: str | None = None
        self.last_proof: proof.Proof | None = None
        self.claims: Mapping[str, object] | None = None
        self._ref = 0
        self._token = ""
        self._ping = 25.0
        self._failures = 0
        self._refusals = 0
        self._was_ready = False
        self._woken = False
        self._beat_at = 0.0
        self._unanswered = 0
        self._refreshing = False
        self._complaint: Refused | None = None

    # what the machine asks

    def begin(self, principal: Principal) -> None:
        """Leave whoever is connected, and connect this principal instead: a new connection (D-10)."""
        self.halt()
        self.principal = principal
        self._failures = 0
        self._connect()

    def halt(self, stage: Stage = Stage.IDLE) -> None:
        """Disconnect and stay so."""
        self._let_go()
        self.stage = stage

    def renew(self, principal: Custom) -> None:
        """Take over a newer token of the same member; the socket stays."""
        self.principal = principal
        if self.stage is Stage.READY:
            self._send_refresh(principal.token)

    def configured(self, socket_uri: str) -> None:
        """Take over the socket's address from the configuration."""
        self.socket_uri = socket_uri
        if self.stage is Stage.LOADING and isinstance(self.principal, Custom):
            self._open(self.principal.token)

    def forgive(self) -> None:
        """Forget earlier refusals: the person or the page did something new, or all has been well for a while."""
        self._refusals = 0

    def wake(self) -> Outcome:
        """Look whether the connection still lives: after sleep, a hidden tab, or time offline."""
        if self.stage is Stage.WAITING:
            self._ctx.hasten("reconnect")
        elif self.stage is not Stage.READY:
            self._woken = True  # the attempt that is under way may fail for what was before
        elif self._time_jumped():
            return self._start_over()
        elif "probe" not in self._ctx.timers:
            self.send({"type": Kind.PING})
            self._ctx.set_timer("probe", PROBE_SECONDS)
        return None

    def send(self, frame: Mapping[str, object]) -> None:
        """Send a frame over the open socket."""
        self._ctx.do(Send(self._ref, frame))

    # what comes in

    def awaits(self, ref: int) -> bool:
        """Tell whether an answer with this `ref` is still wanted."""
        return ref == self._ref

    def token_loaded(self, event: TokenLoaded) -> None:
        """Open a socket with the token, or hand it to the one that is open."""
        self.socket_uri = event.socket_uri
        if self.stage is Stage.LOADING:
            self._open(event.token)
        elif self.stage is Stage.READY:
            self._send_refresh(event.token)

    def token_failed(self, event: TokenFailed) -> Outcome:
        """Give up on a refusal, else try again later."""
        self._refreshing = False
        code = event.code or Fault.TOKEN_UNREACHABLE
        if code in TERMINAL or (event.status == 401 and event.code is not None):
            self.halt()
            return Refused(code, event.message)
        if 400 <= event.status < 500 and event.status != 429:
            self._ctx.report(WidgetError(code, event.message, phase="token"))
        self._failures += 1
        delay = max(event.retry_after or 0.0, self._delay())
        if self.stage is Stage.READY:
            self._ctx.set_timer("refresh", max(1.0, delay))
        else:
            self._wait(delay, Fault.TOKEN_UNREACHABLE, event.message or f"The token endpoint answered {event.status}.")
        return None

    def opened(self) -> None:
        """Await the server's `hello`."""
        if self.stage is not Stage.OPENING:
            return
        self.stage = Stage.GREETING
        self._ctx.set_timer("connect", CONNECT_SECONDS)
        self._ctx.emit("socket:open")

    def proof_signed(self, signature: bytes) -> None:
        """Connect, with the token and the proof that this browser has its key."""
        if self.last_proof is not None:
            signed = proof.compact(self.last_proof.signing_input, signature)
            self.send({"type": Kind.CONNECT, "token": self._token, "proof": signed})

    def frame(self, frame: Mapping[str, object]) -> Outcome:
        """Follow the profile's own frames; those of the chat are left to the chat."""
        self._unanswered = 0
        self._ctx.cancel_timer("probe")
        match frame.get("type"):
            case Kind.HELLO if self.stage in {Stage.OPENING, Stage.GREETING}:
                return self._greeted(frame)
            case Kind.READY if self.stage is Stage.PROVING:
                return self._accepted(frame)
            case Kind.REFRESHED:
                self._ctx.learn_time(number(frame, "server_time"))
                self._ctx.emit("token:refreshed", expires_at=number(frame, "expires_at"))
            case Kind.REAUTH:
                self._ctx.emit("token:reauth", deadline=number(frame, "deadline"))
                return self._asked_again()
            case Kind.PONG:
                self._ctx.learn_time(number(frame, "server_time"))
            case Kind.ERROR if "id" not in frame:
                self._complaint = Refused(text(frame, "code"), text(frame, "message"))
            case _:
                pass
        return None

    def unreadable(self) -> None:
        """The server sent what the profile does not know: a new connection may do better."""
        self._lose("unreadable")

    def closed(self, code: int) -> Outcome:
        """Reconnect, unless the server refused the principal. 1006 says nothing about identity (D-10)."""
        if self.stage not in _WITH_SOCKET:
            return None
        self._ctx.emit("socket:closed", code=code, reason=self._complaint.code if self._complaint else None)
        self.stage = Stage.IDLE
        self._let_go()
        if code in _REFUSALS:
            return self._refused(Refused(Code.TOKEN_EXPIRED, "") if code == Close.TOKEN_EXPIRED else self._why(code))
        self._retry(base=CROWD_BASE if code in _CROWD else 1.0)
        return None

    def timer(self, name: str) -> Outcome:
        """Do what was due."""
        match name:
            case "reconnect" if self.stage is Stage.WAITING:
                return self._reconnect()
            case "connect" if self.stage in _WITH_SOCKET:
                self._lose("timeout")
            case "probe" if self.stage is Stage.READY:
                self._lose("mute")
            case "refresh" if self.stage is Stage.READY:
                self._refresh()
            case "heartbeat" if self.stage is Stage.READY:
                return self._beat()
            case "stable":
                self._failures = 0
                self.forgive()
            case _:
                pass
        return None

    # connecting

    def _connect(self) -> None:
        self._ref = self._ctx.new_ref()
        self._complaint = None
        self._was_ready = self._woken = False
        self.stage = Stage.LOADING
        if not isinstance(self.principal, Custom):
            self._load()
        elif self.socket_uri is not None:
            self._open(self.principal.token)

    def _reconnect(self) -> Outcome:
        if isinstance(self.principal, Custom) and self.principal.claims.expires_at <= self._ctx.server_now:
            self.stage = Stage.IDLE
            return Refused(Code.TOKEN_EXPIRED, "")
        self._connect()
        return None

    def _load(self) -> None:
        match self.principal:
            case Visitor(uid):
                self._ctx.do(LoadVisitorToken(self._ref, uid))
            case Social(token, _):
                self._ctx.do(ExchangeIdentityToken(self._ref, token, self._ctx.connection_key.jkt))
            case _:
                pass

    def _open(self, token: str) -> None:
        uri = self.socket_uri or ""
        self._token = token
        self._note_claims(token)
        self.stage = Stage.OPENING
        self._ctx.set_timer("connect", CONNECT_SECONDS)
        self._ctx.emit("socket:opening", uri=uri)
        self._ctx.do(OpenSocket(self._ref, uri))

    def _greeted(self, frame: Mapping[str, object]) -> Outcome:
        self._ctx.learn_time(number(frame, "server_time"))
        self._ping = max(1.0, number(frame, "ping"))
        if isinstance(self.principal, Custom) and self.principal.claims.expires_at <= self._ctx.server_now:
            self.halt()
            return Refused(Code.TOKEN_EXPIRED, "")
        self._prove(text(frame, "nonce"))
        self._ctx.set_timer("connect", CONNECT_SECONDS)
        return None

    def _prove(self, nonce: str) -> None:
        if isinstance(self.principal, Custom):
            self._token = self.principal.token
        made = proof.build(
            self._ctx.connection_key,
            token=self._token,
            nonce=nonce,
            htu=self.socket_uri or "",
            jti=self._ctx.chance.token(),
            now=self._ctx.server_now,
        )
        self.stage = Stage.PROVING
        self.last_proof = made
        self._ctx.emit("socket:proof", header=made.header, claims=made.claims)
        self._ctx.do(SignProof(self._ref, made.signing_input))

    def _accepted(self, frame: Mapping[str, object]) -> Outcome:
        self._ctx.learn_time(number(frame, "server_time"))
        established = Established(text(frame, "uid"), int(number(frame, "expires_at")))
        if self.principal is None or frame.get("identity") != identity(self.principal):
            raise UnreadableFrame("identity")
        self.stage = Stage.READY
        self._was_ready, self._woken = True, False
        self._beat_at = self._ctx.now
        self._unanswered = 0
        self._ctx.cancel_timer("connect")
        self._ctx.set_timer("heartbeat", self._ping)
        self._ctx.set_timer("stable", STABLE_SECONDS)
        if not isinstance(self.principal, Custom):
            self._ctx.set_timer("refresh", REFRESH_SECONDS)
        self._ctx.emit(
            "socket:ready", identity=frame["identity"], uid=established.uid, expires_at=established.expires_at
        )
        if (newer := self._newer_token()) is not None:
            self._send_refresh(newer)
        return established

    # staying connected

    def _beat(self) -> Outcome:
        if self._time_jumped():
            return self._start_over()
        if self._unanswered >= MISSED_BEATS:
            self._lose("mute")
        else:
            self._beat_at = self._ctx.now
            self._unanswered += 1
            self.send({"type": Kind.PING})
            self._ctx.set_timer("heartbeat", self._ping)
        return None

    def _time_jumped(self) -> bool:
        return self._ctx.now - self._beat_at > self._ping + OVERDUE_SECONDS

    def _asked_again(self) -> Outcome:
        if isinstance(self.principal, Custom):
            return Reauth()
        self._refresh()
        return None

    def _refresh(self) -> None:
        if not self._refreshing:
            self._refreshing = True
            self._load()

    def _newer_token(self) -> str | None:
        """Return the token that the page brought while an older one was being judged."""
        principal = self.principal
        return principal.token if isinstance(principal, Custom) and principal.token != self._token else None

    def _send_refresh(self, token: str) -> None:
        self._refreshing = False
        self._failures = 0
        self._token = token
        self._note_claims(token)
        self.send({"type": Kind.REFRESH, "token": token})
        if not isinstance(self.principal, Custom):
            self._ctx.set_timer("refresh", REFRESH_SECONDS)

    def _note_claims(self, token: str) -> None:
        """Keep the claims for those who debug."""
        try:
            claims = tokens.read(token)
        except WidgetError as error:
            self._ctx.report(error)
            return
        self.claims = claims.payload
        self._ctx.emit(
            "token:used", type=claims.type, uid=claims.uid, expires_at=claims.expires_at, claims=claims.payload
        )

    # losing the connection

    def _lose(self, why: str) -> None:
        self._ctx.emit("socket:lost", why=why)
        self._let_go()
        self._retry()

    def _start_over(self) -> Outcome:
        """After a jump in time: a fresh token first, then a new socket."""
        self._ctx.emit("socket:lost", why="jump")
        self._let_go()
        return self._reconnect()

    def _let_go(self) -> None:
        if self.stage in _WITH_SOCKET:
            self._ctx.do(CloseSocket(self._ref, Close.LOGOUT))
        for name in _TIMERS:
            self._ctx.cancel_timer(name)
        self._ref = self._ctx.new_ref()
        self._refreshing = False

    def _why(self, code: int) -> Refused:
        return self._complaint or Refused(Fault.SOCKET_REFUSED, f"The server closed the socket with {code}.")

    def _refused(self, refused: Refused) -> Outcome:
        """Try once more with a fresh token of ours; for custom login, only the page has another."""
        self._refusals += not refused.expired
        if self._newer_token() is not None and not refused.terminal:
            self._retry()  # what was refused is not the token in hand
            return None
        if isinstance(self.principal, Custom) or refused.terminal or self._refusals >= REFUSALS_BORNE:
            return refused
        self._retry()
        return None

    def _retry(self, *, base: float = 1.0) -> None:
        self._failures += 1
        delay = self._delay(base)
        message = f"The socket failed {self._failures} times in a row."
        why = self._complaint or Refused(Fault.SOCKET_UNREACHABLE, message)
        self._wait(delay, why.code, why.message)

    def _delay(self, base: float = 1.0) -> float:
        fraction = self._ctx.chance.fraction()
        return fraction if self._woken else full_jitter(self._failures, fraction=fraction, base=base)

    def _wait(self, delay: float, code: str, message: str) -> None:
        self.stage = Stage.WAITING
        self._ctx.set_timer("reconnect", delay)
        self._ctx.emit("socket:waiting", seconds=round(delay, 3), attempt=self._failures)
        if self._failures == UNREACHABLE_AFTER and not self._was_ready:
            self._ctx.report(WidgetError(code, message, retryable=True))
