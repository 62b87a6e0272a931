"""A client's end of a socket: sends what a test gives it, and records how the socket ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests import profile
from websockets.exceptions import ConnectionClosed

from chatkey_conform.making.honest import BrowserKey, Json, Maker
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from websockets.sync.client import ClientConnection

WAIT: Final = PATIENCE
"""Seconds until a peer that receives nothing gives up."""


@dataclass(frozen=True)
class Ended:
    """How a socket ended: all frames after `hello`, the close code and its reason. `close` is None while it is open."""

    frames: list[Json]
    close: int | None
    reason: str

    @property
    def last(self) -> Json:
        """The last frame."""
        return self.frames[-1]

    @property
    def granted(self) -> bool:
        """Whether the server sent `ready`."""
        return any(frame["type"] == "ready" for frame in self.frames)

    @property
    def refusal(self) -> tuple[str, int | None]:
        """The refusal's code and the close code. Fails unless the refusal was the only frame."""
        assert [frame["type"] for frame in self.frames] == ["error"], self
        assert self.reason == self.last["code"], self
        return self.last["code"], self.close


class Peer:
    """An open socket. `hello` has been read, unless the server refused at once."""

    def __init__(self, connection: ClientConnection, service: Service) -> None:
        self.connection = connection
        self._service = service
        self._first = self.next()
        self.nonce = str(self._first.get("nonce", ""))

    @property
    def hello(self) -> Json:
        """The server's first frame."""
        return self._first

    def say(self, frame: Mapping[str, Any] | str | bytes) -> None:
        """Send a frame: an object as JSON, text and bytes unchanged."""
        self.connection.send(json.dumps(frame) if isinstance(frame, Mapping) else frame)

    def next(self) -> Json:
        """Return the next frame from the server."""
        frame: Json = json.loads(self.connection.recv(timeout=WAIT))
        profile.said_by_the_server(frame)
        return frame

    def ask(self, frame: Mapping[str, Any] | str | bytes) -> Json:
        """Send a frame, and return the next frame from the server."""
        self.say(frame)
        return self.next()

    def end(self) -> Ended:
        """Read until the server closes. Raises TimeoutError when it does not."""
        frames = [] if self._first["type"] == "hello" else [self._first]
        try:
            while True:
                frames.append(self.next())
        except ConnectionClosed as closed:
            received = closed.rcvd
            return Ended(frames, received.code if received else None, received.reason if received else "")

    def prove(self, key: BrowserKey, token: str, **changes: Any) -> str:
        """Return an honest proof for this connection, with these members changed."""
        honest = {"nonce": self.nonce, "htu": self._service.socket_uri, "now": self._service.now()}
        return Maker().proof(key, token=token, **{**honest, **changes})

    def connect(self, token: str, proof: str) -> Ended:
        """Send `connect`, and return the outcome: `ready`, or the refusal with its close code."""
        self.say({"type": "connect", "token": token, "proof": proof})
        answer = self.next()
        if answer["type"] == "ready":
            return Ended([answer], None, "")
        ended = self.end()
        return Ended([answer, *ended.frames], ended.close, ended.reason)
