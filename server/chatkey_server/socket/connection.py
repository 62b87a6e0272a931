"""The state machine of one socket, without I/O. From frames and the time, it decides what to send (D-10)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Final

from chatkey_protocol import frames
from chatkey_protocol.codes import Code
from chatkey_protocol.frames import WidgetFrame
from chatkey_protocol.names import REVISION
from chatkey_server.identity import proofs, tokens
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import SocketIdentity, UnverifiedToken
from chatkey_server.peers.frame_rate import FrameRate
from chatkey_server.peers.reader import Reader
from chatkey_server.settings import Limits
from chatkey_server.socket.handshake import Admitted, Handshake
from chatkey_server.storage.providers import ProviderView

REAUTH_SECONDS: Final = 30
"""How many seconds before a token expires the widget is asked for a newer one."""


READER: Final[Reader[WidgetFrame]] = Reader(WidgetFrame)


class State(enum.Enum):
    AWAITING_CONNECT = "awaiting connect"
    READY = "ready"
    CLOSED = "closed"


class Connection:
    """Processes frames and the time, and returns frames to send. A `Refused` ends the connection.

    The caller sends the frame from `arrive` and passes each text message to `receive`. If `receive` returns a `Connect`
    or `Refresh`, the caller finds the provider and calls the method of that name. The caller calls `tick` when the
    clock reaches `wakes_at`.
    """

    def __init__(self, uri: str, limits: Limits, *, now: float) -> None:
        self._handshake = Handshake(uri, origin=None)
        self._limits = limits
        self._nonce: str | None = proofs.new_nonce()
        self._rate = FrameRate(limits, now)
        self._asked_again = False
        self.state = State.AWAITING_CONNECT
        self.opened_at = now
        self.ends_at = now + limits.auth_timeout
        self._identity: SocketIdentity | None = None

    @property
    def identity(self) -> SocketIdentity:
        """The identity that has connected. Available after `connect`."""
        if self._identity is None:
            raise AssertionError("the identity was read before the connection had one")
        return self._identity

    @property
    def wakes_at(self) -> float:
        """The time at which `tick` must be called next."""
        if self.state is State.READY and not self._asked_again:
            return self.ends_at - REAUTH_SECONDS
        return self.ends_at

    def arrive(self, origin_headers: Sequence[str], query: bytes) -> frames.Hello:
        """Check how the socket was opened, and return the first frame, which contains this connection's nonce."""
        self._handshake = Handshake.begin(self._handshake.uri, origin_headers, query)
        return frames.Hello(
            type="hello",
            nonce=self._nonce or "",
            server_time=int(self.opened_at),
            auth_timeout=self._limits.auth_timeout,
            ping=self._limits.ping,
        )

    def receive(self, text: str, now: float) -> WidgetFrame:
        """Decode a frame. Raises `Refused` if the frame comes too late, too often, or in the wrong state."""
        self._check_time(now)
        self._rate.count(now)
        frame = READER.read(text, max_bytes=self._limits.frame_bytes)
        self._expect(State.AWAITING_CONNECT if frame["type"] == "connect" else State.READY, frame)
        return frame

    def connect(self, frame: frames.Connect, token: UnverifiedToken, provider: ProviderView, now: float) -> Admitted:
        """Verify token and proof, and return the connected identity.

        A valid token uses up the nonce. An invalid token may be checked again with newer secrets.
        """
        self._expect(State.AWAITING_CONNECT, frame)
        identity = tokens.verified(token, provider.secrets, pid=provider.id, now=now)
        nonce, self._nonce = self._nonce, None
        admitted = self._handshake.judge(frame, identity, provider, nonce=nonce, now=now)
        self.state = State.READY
        self._hold(admitted.identity)
        return admitted

    def ready(self, now: float) -> frames.Ready:
        """Return the frame that contains the widget's identity and the time at which the identity expires."""
        identity = self.identity
        return frames.Ready(
            type="ready",
            identity="visitor" if identity.login == "visitor" else "member",
            uid=identity.uid,
            expires_at=identity.expires_at,
            server_time=int(now),
            revision=REVISION,
        )

    def refresh(self, frame: frames.Refresh, provider: ProviderView, now: float) -> frames.Refreshed:
        """Accept a newer token of the same person and key. An older token changes nothing."""
        self._expect(State.READY, frame)
        held = self.identity
        token = tokens.unverified(frame["token"], most=self._limits.token_bytes)
        if token.pid != held.pid:
            raise _changed("pid")
        identity = tokens.verified(token, provider.secrets, pid=held.pid, now=now)
        self._handshake.check_provider(provider)
        for member, differs in (
            ("type", identity.login != held.login),
            ("uid", identity.uid != held.uid),
            ("cnf.jkt", identity.jkt != held.jkt),
        ):
            if differs:
                raise _changed(member)
        if identity.expires_at > held.expires_at:
            self._hold(identity)
        return frames.Refreshed(type="refreshed", expires_at=int(self.ends_at), server_time=int(now))

    def pong(self, now: float) -> frames.Pong:
        return frames.Pong(type="pong", server_time=int(now))

    def tick(self, now: float) -> frames.Reauth | None:
        """Return a request for a newer token if one is due.

        Raises `Refused` if `connect` is late or the token has expired.
        """
        self._check_time(now)
        if self.state is not State.READY or self._asked_again or now < self.wakes_at:
            return None
        self._asked_again = True
        return frames.Reauth(type="reauth", deadline=int(self.ends_at))

    def close(self) -> None:
        self.state = State.CLOSED

    def _hold(self, identity: SocketIdentity) -> None:
        self._identity = identity
        self.ends_at = float(identity.expires_at)
        self._asked_again = False

    def _check_time(self, now: float) -> None:
        if now < self.ends_at:
            return
        if self.state is State.AWAITING_CONNECT:
            raise Refused(
                Code.AUTH_TIMEOUT, f"No connect frame arrived within {self._limits.auth_timeout} s of the hello."
            )
        raise Refused(Code.TOKEN_EXPIRED, "The token of this connection has expired; connect with a new one.")

    def _expect(self, state: State, frame: WidgetFrame) -> None:
        if self.state is state:
            return
        raise Refused(
            Code.FRAME_UNEXPECTED,
            (
                f"A {frame['type']} frame is only allowed in the state {state.value!r}; this connection is in the "
                f"state {self.state.value!r}."
            ),
            member="type",
        )


def _changed(member: str) -> Refused:
    return Refused(
        Code.IDENTITY_CHANGED,
        f"The newer token has another {member}. Open a new connection for another identity.",
        member=member,
    )
