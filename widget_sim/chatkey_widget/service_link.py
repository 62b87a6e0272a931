"""The connection of one principal to the service: token, socket, proof, heartbeat, refresh, reconnect (D-10)."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal, assert_never

from chatkey_protocol.codes import Close, Code
from chatkey_protocol.frames import Kind
from chatkey_widget import proof, tokens
from chatkey_widget.backoff import CROWD_BASE
from chatkey_widget.context import Context
from chatkey_widget.effects import CloseSocket, ExchangeIdentityToken, LoadVisitorToken, OpenSocket, Send, SignProof
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.events import TokenFailed, TokenLoaded
from chatkey_widget.frame_members import UnreadableFrame, number, text
from chatkey_widget.link_attempts import Attempts
from chatkey_widget.link_outcomes import TERMINAL, Established, Outcome, Reauth, Refused
from chatkey_widget.link_stages import (
    Greeting,
    Idle,
    Loading,
    OnSocket,
    Opening,
    Proving,
    Ready,
    Stage,
    Stopped,
    Waiting,
)
from chatkey_widget.principal import Custom, Principal, Social, Visitor, identity, same_person
from chatkey_widget.timers import LinkTimer

REFRESH_SECONDS: Final = 50.0
"""The interval in seconds at which tokens from the service's endpoints are refreshed (contract 2.6)."""

CONNECT_SECONDS: Final = 10.0
"""The timeout of each step of connecting, in seconds."""

PROBE_SECONDS: Final = 3.0
"""The shortest timeout, in seconds, of a ping that was sent because the connection is in doubt."""

ANSWER_SECONDS: Final = 2.0
"""The time in seconds after which a frame without an answer puts the connection in doubt."""

SILENCE_SECONDS: Final = 5.0
"""The time in seconds without any frame, during a conversation, after which the connection is in doubt."""

STABLE_SECONDS: Final = 60.0
"""The time in seconds after which a connection is stable and earlier failures are forgotten."""

_REFUSALS: Final = frozenset({Close.TOKEN, Close.FORBIDDEN, Close.TOKEN_EXPIRED})
_CROWD: Final = frozenset({Close.RESTART, Close.TRY_LATER})
_CONVERSATION: Final = frozenset({Kind.MESSAGE, Kind.ACK, Kind.CALL})
_TIMERS: Final[tuple[LinkTimer, ...]] = ("connect", "doubt", "heartbeat", "probe", "reconnect", "refresh", "stable")

LinkKind = Literal[Kind.HELLO, Kind.READY, Kind.REFRESHED, Kind.REAUTH, Kind.PONG, Kind.ERROR]
"""The kinds of frames about the connection. This includes an `error` that does not answer a frame of the chat."""


class ServiceLink:
    """Connects the principal, and keeps the principal connected.

    `claims` and `last_proof` are the ones that were used last. They are kept for debugging.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.stage: Stage = Idle()
        self.socket_uri: str | None = None
        self.claims: Mapping[str, object] | None = None
        self.last_proof: proof.Proof | None = None
        self.revision = 0.0
        """The profile's revision that the service implements. It is 0 if the service is older than revision 3."""
        self._accepted_as: Principal | None = None
        self._attempts = Attempts(ctx.chance)
        self._opening_at = 0.0
        self._patience = CONNECT_SECONDS

    @property
    def principal(self) -> Principal | None:
        """The principal that is connected, will be connected, or was connected last."""
        return self.stage.principal

    @property
    def is_ready(self) -> bool:
        return isinstance(self.stage, Ready)

    @property
    def complaint(self) -> Refused | None:
        """The server's last error about the present connection."""
        return self.stage.complaint if isinstance(self.stage, OnSocket) else None

    @property
    def is_accepted(self) -> bool:
        """Whether the server has accepted this principal. This stays true if the connection is lost later."""
        return same_person(self._accepted_as, self.principal)

    # called by the machine

    def begin(self, principal: Principal) -> None:
        """Close the current connection, and connect this principal with a new one (D-10)."""
        if not same_person(self._accepted_as, principal):
            self._accepted_as = None
        self.halt()
        self._attempts.connected()
        self._connect(principal)

    def halt(self) -> None:
        """Disconnect, and wait for the next principal."""
        if isinstance(self.stage, OnSocket):
            self._ctx.do(CloseSocket(self.stage.ref, Close.LOGOUT))
        for name in _TIMERS:
            self._ctx.cancel_timer(name)
        self.stage = Idle(self.principal)

    def stop(self) -> None:
        """Disconnect, and stay disconnected until the person or the page asks for a new attempt."""
        self.halt()
        self.stage = Stopped(self.principal)

    def renew(self, principal: Custom) -> None:
        """Use a newer token of the same member. The socket stays open."""
        self.stage = replace(self.stage, principal=principal)
        if isinstance(self.stage, Ready):
            self._send_refresh(self.stage, principal.token)

    def configured(self, socket_uri: str) -> None:
        """Use the socket's address from the configuration."""
        self.socket_uri = socket_uri
        if isinstance(self.stage, Loading) and isinstance(self.stage.principal, Custom):
            self._open(self.stage, socket_uri, self.stage.principal.token)

    def forgive(self) -> None:
        """Reset the count of refusals: the person or page has done something new, or the connection is stable."""
        self._attempts.forgive()

    def wake(self) -> Outcome | None:
        """Check that the connection still works, after sleep, a hidden tab, or time offline."""
        match self.stage:
            case Idle() | Stopped():
                return None
            case Waiting():
                self._ctx.hasten("reconnect")
                return None
            case Loading() | Opening() | Greeting() | Proving() as attempt:
                self.stage = replace(attempt, woken=True)
                return None
            case Ready() as ready:
                return self._probe(ready, within=self._patience)
            case _:
                assert_never(self.stage)

    def send(self, frame: Mapping[str, object]) -> None:
        """Send a frame. The socket must already exist."""
        if not isinstance(self.stage, OnSocket):
            raise AssertionError(f"a frame was sent while the link was {self.stage.name}")  # noqa: TRY004 - the moment is wrong, not a type
        self._ctx.do(Send(self.stage.ref, frame))
        if isinstance(self.stage, Ready) and frame["type"] != Kind.PING and not self.stage.awaiting:
            self.stage = replace(self.stage, awaiting=True)
            self._ctx.set_timer("doubt", ANSWER_SECONDS)

    # incoming answers, frames and timers

    def awaits(self, ref: int) -> bool:
        """Return whether an answer with this `ref` is still needed."""
        return isinstance(self.stage, Loading | OnSocket) and self.stage.ref == ref

    def token_loaded(self, event: TokenLoaded) -> None:
        """Open a socket with the token. If there is an open socket, send the token over that socket."""
        self.socket_uri = event.socket_uri
        if isinstance(self.stage, Loading):
            self._open(self.stage, event.socket_uri, event.token)
        elif isinstance(self.stage, Ready):
            self._send_refresh(self.stage, event.token)

    def token_failed(self, event: TokenFailed) -> Outcome | None:
        """If the service refused the token, give up. Otherwise, try again later."""
        code = event.code or Fault.TOKEN_UNREACHABLE
        if code in TERMINAL or (event.status == 401 and event.code is not None):
            self.halt()
            return Refused(code, event.message)
        if 400 <= event.status < 500 and event.status != 429:
            self._ctx.report(WidgetError(code, event.message, phase="token"))
        delay = max(event.retry_after or 0.0, self._attempts.failed(self.stage))
        if isinstance(self.stage, Ready):
            self.stage = replace(self.stage, refreshing=False)
            self._ctx.set_timer("refresh", max(1.0, delay))
        elif isinstance(self.stage, Loading):
            message = event.message or f"The token endpoint answered with status {event.status}."
            self._wait(self.stage, delay, Refused(Fault.TOKEN_UNREACHABLE, message))
        return None

    def opened(self) -> None:
        if isinstance(self.stage, Opening):
            self.stage = self.stage.opened()
            self._await_step()
            self._ctx.emit("socket:open")

    def proof_signed(self, signature: bytes) -> None:
        """Send `connect`, with the token and the proof that this browser has the key of the token."""
        if isinstance(self.stage, Proving):
            signed = proof.compact(self.stage.proof.signing_input, signature)
            self.send({"type": Kind.CONNECT, "token": self.stage.token, "proof": signed})

    def heard(self, kind: Kind | None) -> None:
        """Record that the server has sent a frame.

        If the frame belongs to a conversation and the server then sends nothing for a long time, check the connection
        again.
        """
        self._ctx.cancel_timer("probe")
        if isinstance(self.stage, Ready):
            self.stage = replace(self.stage, awaiting=False)
        if isinstance(self.stage, Ready) and kind in _CONVERSATION:
            self._ctx.set_timer("doubt", SILENCE_SECONDS)
        else:
            self._ctx.cancel_timer("doubt")

    def frame(self, kind: LinkKind, frame: Mapping[str, object]) -> Outcome | None:
        """Process a frame about the connection. Raises `UnreadableFrame`."""
        match kind:
            case Kind.HELLO:
                at = self.stage.opened() if isinstance(self.stage, Opening) else self.stage
                return self._greeted(at, frame) if isinstance(at, Greeting) else None
            case Kind.READY:
                return self._accepted(self.stage, frame) if isinstance(self.stage, Proving) else None
            case Kind.REFRESHED:
                self._ctx.learn_time(number(frame, "server_time"))
                self._ctx.emit("token:refreshed", expires_at=number(frame, "expires_at"))
            case Kind.REAUTH:
                self._ctx.emit("token:reauth", deadline=number(frame, "deadline"))
                return self._asked_again()
            case Kind.PONG:
                self._ctx.learn_time(number(frame, "server_time"))
            case Kind.ERROR:
                self._complained(Refused(text(frame, "code"), text(frame, "message")))
            case _:
                assert_never(kind)
        return None

    def unreadable(self) -> None:
        """Reconnect, because the server sent a frame that the profile does not allow."""
        self._lose("unreadable")

    def closed(self, code: int) -> Outcome | None:
        """Reconnect, unless the server refused the principal. Code 1006 says nothing about the identity (D-10)."""
        lost = self.stage
        if not isinstance(lost, OnSocket):
            return None
        self._ctx.emit("socket:closed", code=code, reason=lost.complaint.code if lost.complaint else None)
        self.stage = Idle(lost.principal)
        self.halt()
        if code in _REFUSALS:
            return self._refused(lost, lost.refused(code))
        self._retry(lost, base=CROWD_BASE if code in _CROWD else 1.0)
        return None

    def timer(self, name: LinkTimer) -> Outcome | None:
        """Carry out the task of the timer that fired."""
        match name:
            case "reconnect":
                return self._reconnect(self.stage.principal) if isinstance(self.stage, Waiting) else None
            case "connect":
                self._lose("timeout")
            case "probe":
                self._lose("mute")
            case "refresh":
                self._refresh()
            case "doubt":
                return self._probe(self.stage, within=self._patience) if isinstance(self.stage, Ready) else None
            case "heartbeat":
                return self._beat(self.stage) if isinstance(self.stage, Ready) else None
            case "stable":
                self._attempts.connected()
                self.forgive()
            case _:
                assert_never(name)
        return None

    # connecting

    def _connect(self, principal: Principal) -> None:
        loading = Loading(principal, self._ctx.new_ref())
        self.stage = loading
        if not isinstance(principal, Custom):
            self._load(loading.ref, principal)
        elif self.socket_uri is not None:
            self._open(loading, self.socket_uri, principal.token)

    def _reconnect(self, principal: Principal) -> Outcome | None:
        if self._has_ended(principal):
            self.stage = Idle(principal)
            return Refused(Code.TOKEN_EXPIRED, "")
        self._connect(principal)
        return None

    def _has_ended(self, principal: Principal) -> bool:
        """Return whether a custom-login token has expired. Other principals get new tokens from the service."""
        return isinstance(principal, Custom) and principal.claims.expires_at <= self._ctx.server_now

    def _load(self, ref: int, principal: Visitor | Social) -> None:
        match principal:
            case Visitor(uid):
                self._ctx.do(LoadVisitorToken(ref, uid))
            case Social(token, _):
                self._ctx.do(ExchangeIdentityToken(ref, token, self._ctx.connection_key.jkt))
            case _:
                assert_never(principal)

    def _open(self, at: Loading, uri: str, token: str) -> None:
        self._note_claims(token)
        self.stage = Opening(principal=at.principal, ref=at.ref, token=token, uri=uri, woken=at.woken)
        self._opening_at = self._ctx.now
        self._await_step()
        self._ctx.emit("socket:opening", uri=uri)
        self._ctx.do(OpenSocket(at.ref, uri))

    def _greeted(self, at: Greeting, frame: Mapping[str, object]) -> Outcome | None:
        self._ctx.learn_time(number(frame, "server_time"))
        ping = max(1.0, number(frame, "ping"))
        if self._has_ended(at.principal):
            self.halt()
            return Refused(Code.TOKEN_EXPIRED, "")
        self._prove(at, text(frame, "nonce"), ping)
        self._await_step()
        return None

    def _await_step(self) -> None:
        """Start the timeout for the next step.

        After a lost connection the timeout is shorter, so that a retry comes soon.
        """
        self._ctx.set_timer("connect", self._patience if self._attempts.is_early else CONNECT_SECONDS)

    def _prove(self, at: Greeting, nonce: str, ping: float) -> None:
        token = at.principal.token if isinstance(at.principal, Custom) else at.token
        made = proof.build(
            self._ctx.connection_key,
            token=token,
            nonce=nonce,
            htu=at.uri,
            jti=self._ctx.chance.token(),
            now=self._ctx.server_now,
        )
        self.stage = at.greeted(made, token=token, ping=ping)
        self.last_proof = made
        self._ctx.emit("socket:proof", header=made.header, claims=made.claims)
        self._ctx.do(SignProof(at.ref, made.signing_input))

    def _accepted(self, at: Proving, frame: Mapping[str, object]) -> Outcome:
        self._ctx.learn_time(number(frame, "server_time"))
        uid, expires_at = text(frame, "uid"), int(number(frame, "expires_at"))
        if frame.get("identity") != identity(at.principal):
            raise UnreadableFrame("identity")
        self.stage = ready = at.accepted(self._ctx.now)
        self._accepted_as = at.principal
        self.revision = number(frame, "revision") if "revision" in frame else 0
        self._patience = min(CONNECT_SECONDS, max(PROBE_SECONDS, self._ctx.now - self._opening_at))
        self._ctx.cancel_timer("connect")
        self._ctx.set_timer("heartbeat", at.ping)
        self._ctx.set_timer("stable", STABLE_SECONDS)
        self._plan_refresh(at.principal)
        self._ctx.emit("socket:ready", identity=frame["identity"], uid=uid, expires_at=expires_at)
        if (newer := ready.newer_token) is not None:
            self._send_refresh(ready, newer)
        return Established(at.principal)

    # staying connected

    def _beat(self, at: Ready) -> Outcome | None:
        outcome = self._probe(at, within=CONNECT_SECONDS)
        if isinstance(self.stage, Ready):
            self.stage = replace(self.stage, beat_at=self._ctx.now)
            self._ctx.set_timer("heartbeat", at.ping)
        return outcome

    def _probe(self, at: Ready, *, within: float) -> Outcome | None:
        """Send a ping. If no frame is received within `within` seconds, give up the connection."""
        if at.is_overdue(self._ctx.now):
            return self._start_over(at)
        due = self._ctx.now + within
        if "probe" not in self._ctx.timers:
            self.send({"type": Kind.PING})
        if due < self._ctx.timers.get("probe", math.inf):
            self._ctx.set_timer("probe", within)
        return None

    def _asked_again(self) -> Outcome | None:
        if isinstance(self.principal, Custom):
            return Reauth()
        self._refresh()
        return None

    def _plan_refresh(self, principal: Principal) -> None:
        if not isinstance(principal, Custom):
            self._ctx.set_timer("refresh", REFRESH_SECONDS)

    def _refresh(self) -> None:
        """Request a newer token from the service's endpoints, unless a request is in progress.

        Custom logins have no such endpoint.
        """
        at = self.stage
        if isinstance(at, Ready) and not isinstance(at.principal, Custom) and not at.refreshing:
            self.stage = replace(at, refreshing=True)
            self._load(at.ref, at.principal)

    def _send_refresh(self, at: Ready, token: str) -> None:
        self._attempts.connected()
        self.stage = replace(at, token=token, refreshing=False)
        self._note_claims(token)
        self.send({"type": Kind.REFRESH, "token": token})
        self._plan_refresh(at.principal)

    def _note_claims(self, token: str) -> None:
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

    def _complained(self, complaint: Refused) -> None:
        if isinstance(self.stage, OnSocket):
            self.stage = replace(self.stage, complaint=complaint)

    def _lose(self, why: str) -> None:
        lost = self.stage
        if isinstance(lost, OnSocket):
            self._ctx.emit("socket:lost", why=why)
            self.halt()
            self._retry(lost)

    def _start_over(self, lost: Ready) -> Outcome | None:
        """After the page has slept, request a new token first, and then open a new socket."""
        self._ctx.emit("socket:lost", why="jump")
        self.halt()
        return self._reconnect(lost.principal)

    def _refused(self, lost: OnSocket, refused: Refused) -> Outcome | None:
        """Try once more with a new token from the service. For custom login, only the page can provide a token."""
        is_another_worth_it = self._attempts.refused(refused)
        if lost.newer_token is not None and not refused.terminal:
            self._retry(lost)  # a newer token than the refused one is available
            return None
        if isinstance(lost.principal, Custom) or refused.terminal or not is_another_worth_it:
            return refused
        self._retry(lost, is_refused=True)
        return None

    def _retry(self, lost: OnSocket, *, base: float = 1.0, is_refused: bool = False) -> None:
        """Connect again later. A refusal is reported when the widget gives up, and not as an unreachable service."""
        delay = self._attempts.failed(lost, base=base)
        message = f"The socket failed {self._attempts.failures} times in a row."
        why = None if is_refused else lost.complaint or Refused(Fault.SOCKET_UNREACHABLE, message)
        self._wait(lost, delay, why)

    def _wait(self, lost: Loading | OnSocket, delay: float, why: Refused | None) -> None:
        self.stage = Waiting(lost.principal)
        self._ctx.set_timer("reconnect", delay)
        self._ctx.emit("socket:waiting", seconds=round(delay, 3), attempt=self._attempts.failures)
        if why is not None and self._attempts.is_worth_telling():
            self._ctx.report(why.error(lost.principal, retryable=True))
