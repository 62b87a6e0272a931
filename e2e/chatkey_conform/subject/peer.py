"""A client connection to the target's socket, and how the connection ends."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from websockets.exceptions import ConnectionClosed

from chatkey_conform.data import misfit
from chatkey_conform.grades.business import HarnessError
from chatkey_conform.judging.transcript import Transcript, frame_text
from chatkey_conform.judging.verdict import Broken, OtherRefusal, expect, expect_that
from chatkey_conform.subject.pace import LONGEST_WAIT, TRIES
from chatkey_peer.key import BrowserKey, Json
from chatkey_peer.wire import Wire
from chatkey_protocol.frames import Kind
from chatkey_stack.patience import PATIENCE

KINDS: Final = frozenset(Kind)
WAIT: Final = min(PATIENCE, 12.0)
MANY: Final = 16
SHORT: Final = 3.0
CODES: Final = "D-10/checks"
"""The sentence of the profile that gives each check of the socket its place and its code."""
SECOND: Final = 1.1
"""One second on the service's clock, with a margin because the suite uses another clock."""


@dataclass(frozen=True)
class Ended:
    """How a connection ended: frames after `hello`, close code and reason.

    While the connection is open, `close` is None.
    """

    frames: tuple[Json, ...]
    close: int | None
    reason: str

    @property
    def granted(self) -> bool:
        """Whether `ready` was received."""
        return any(frame["type"] == "ready" for frame in self.frames)

    def refused(self, code: str, close: int) -> None:
        """Check for a refusal: one `error` frame with this code, then a close with this close code. Raises `Broken`."""
        kinds = [frame["type"] for frame in self.frames]
        expect(kinds, ["error"], f"The frames that the service sent before it closed with {self.close}")
        expect_that(self.close is not None, "The connection ended without a close frame")
        self._expect(self.frames[-1]["code"], code, "code of the error frame")
        self._expect(self.close, close, f"The close code after {code}")
        self._expect(self.reason, code, "The reason of the close frame")
        expect_that("id" not in self.frames[-1], "The error frame before the close has an `id`")

    def closed(self, *codes: int) -> None:
        """Check that the service sent no frame and closed with one of these codes. Raises `Broken`."""
        kinds = [frame["type"] for frame in self.frames]
        expect(kinds, [], f"The frames that the service sent before it closed with {self.close}")
        expect_that(self.close is not None, "The connection ended without a close frame")
        if self.close not in codes:
            wanted = " or ".join(map(str, codes))
            raise OtherRefusal(f"The close code: expected {wanted}, got {self.close}", CODES)

    def _expect(self, came: object, wanted: object, what: str) -> None:
        try:
            expect(came, wanted, what)
        except Broken as other:
            raise OtherRefusal(str(other), CODES) from None


class Patience:
    """The timeout for one receive. After 16 timeouts it drops to 3 s, because load no longer explains the timeouts."""

    def __init__(self, usual: float = WAIT, frames_per_second: int = 0) -> None:
        self.frames_per_second = frames_per_second
        self._usual = usual
        self._lost = 0

    def seconds(self) -> float:
        return self._usual if self._lost < MANY else min(self._usual, SHORT)

    def lost(self) -> None:
        """Count a timeout."""
        self._lost += 1


class Rhythm:
    """Keeps the number of frames per second within the limit of the service; 0 means no limit."""

    def __init__(self, most: int) -> None:
        self._sent: deque[float] = deque(maxlen=most or None)

    def keep(self) -> None:
        """Wait until the next frame may be sent."""
        if len(self._sent) == self._sent.maxlen:
            threading.Event().wait(max(0.0, self._sent[0] + SECOND - time.monotonic()))
        self._sent.append(time.monotonic())


class Written(float):
    """A number written with a fraction or an exponent. It never counts as an integer, regardless of its value."""

    def is_integer(self) -> bool:
        """Return false, so that a JSON Schema validator does not accept the number as an integer."""
        return False


class Peer:
    """An open connection whose first frame (`hello` or a refusal) has already been read."""

    def __init__(
        self,
        connection: Wire,
        socket_uri: str,
        transcript: Transcript,
        clock: Callable[[], float],
        patience: Patience,
    ) -> None:
        self.connection = connection
        self._uri = socket_uri
        self._transcript = transcript
        self._clock = clock
        self._wait = patience.seconds
        self._late = patience.lost
        self._rhythm = Rhythm(patience.frames_per_second)
        self.hello = self.next()
        self.nonce = str(self.hello.get("nonce", ""))

    def send_raw(self, *frames: bytes) -> None:
        """Send raw bytes on the connection, without adding a WebSocket frame.

        Does nothing if the connection is closed.
        """
        self._transcript.note(f"→ {sum(map(len, frames))} bytes")
        self.connection.write(b"".join(frames))

    def say(self, frame: Mapping[str, Any] | str | bytes, *, hurried: bool = False) -> None:
        """Send a frame.

        A mapping is sent as JSON; text or bytes are sent unchanged. Does nothing if the connection is closed. Unless
        `hurried` is set, waits so that the frame rate stays within the service's limit.
        """
        if not hurried:
            self._rhythm.keep()
        self._transcript.note(f"→ {frame_text(frame)}")
        try:
            self.connection.send(json.dumps(frame) if isinstance(frame, Mapping) else frame)
        except ConnectionClosed:
            return

    def next(self) -> Json:
        """Return the next frame. Raises `Broken` if no frame arrives."""
        try:
            return self._read(self._wait())
        except ConnectionClosed as closed:
            self._note_close(closed)
            raise Broken(f"The socket was closed ({_close_of(closed)}) while the suite waited for a frame") from None
        except TimeoutError:
            self._late()
            raise Broken("No frame arrived in time") from None

    def ask(self, frame: Mapping[str, Any] | str | bytes) -> Json:
        """Send a frame and return the answer. Frames that the service may send without a request are skipped.

        If the answer is `rate_limited`, waits and sends the frame again. Raises `HarnessError` if the wait is too long.
        """
        has_id = isinstance(frame, Mapping) and "id" in frame
        answer = self._answer_to(frame, has_id)
        for _ in range(TRIES - 1):
            if answer.get("code") != "rate_limited" or "id" not in answer:
                break
            threading.Event().wait(_seconds_asked_for(answer))
            answer = self._answer_to(frame, has_id)
        return answer

    def _answer_to(self, frame: Mapping[str, Any] | str | bytes, has_id: bool) -> Json:
        self.say(frame)
        while _is_unasked(answer := self.next(), has_id):
            continue
        return answer

    def granted(self, frame: Mapping[str, Any], kind: str) -> Json:
        """Send a frame, and check that the answer has this type and the `id` of the frame, if the frame has one."""
        answer = self.ask(frame)
        expect(answer["type"], kind, f"type of the answer to {frame['type']}{_why(answer)}")
        if "id" in frame:
            expect(answer.get("id"), frame["id"], f"id of the answer to {frame['type']}")
        return answer

    def end(self, more: float = 0) -> Ended:
        """Read until the service closes the connection.

        Waits `more` seconds longer than usual, then raises `Broken`.
        """
        frames = [] if self.hello["type"] == "hello" else [self.hello]
        until = time.monotonic() + self._wait() + more
        try:
            while (left := until - time.monotonic()) > 0:
                frames.append(self._read(left))
        except ConnectionClosed as closed:
            self._note_close(closed)
            received = closed.rcvd
            return Ended(tuple(frames), received.code if received else None, received.reason if received else "")
        except TimeoutError:
            pass
        self._late()
        raise Broken("The service did not close the socket in time")

    def is_pinged(self, seconds: float) -> bool:
        """Return whether a WebSocket ping arrives within `seconds` plus the usual timeout."""
        return self.connection.pinged.wait(seconds + self._wait())

    def prove(self, key: BrowserKey, token: str, **changes: Any) -> str:
        """Return a valid proof for this connection, with these changes."""
        honest = {"nonce": self.nonce, "htu": self._uri, "now": self._clock()}
        return key.prove(token=token, **{**honest, **changes})

    def connect(self, token: str, proof: str) -> Ended:
        """Send `connect`. Return `ready`, or the refusal with its close code."""
        expect(self.hello["type"], "hello", "type of the first frame")
        self.say({"type": "connect", "token": token, "proof": proof})
        try:
            answer = self._read(self._wait())
        except TimeoutError:
            self._late()
            raise Broken("`connect` was not answered") from None
        except ConnectionClosed as closed:
            self._note_close(closed)
            received = closed.rcvd
            return Ended((), received.code if received else None, received.reason if received else "")
        if answer["type"] == "ready":
            return Ended((answer,), None, "")
        ended = self.end()
        return Ended((answer, *ended.frames), ended.close, ended.reason)

    def join(self, token: str, key: BrowserKey) -> Json:
        """Connect with a valid token and proof, and return `ready`. Raises `Broken` if the service refuses."""
        ended = self.connect(token, self.prove(key, token))
        expect_that(
            ended.granted,
            f"A valid token with a valid proof is refused{_why(ended.frames[-1] if ended.frames else {})}",
        )
        return ended.frames[0]

    def _read(self, seconds: float) -> Json:
        until = time.monotonic() + seconds
        while not _is_known(frame := self._object(until - time.monotonic())):
            continue
        if why := misfit("frames-of-the-server", frame):
            raise Broken(f"A frame from the service ({frame.get('type')!r}) {why}")
        return frame

    def _object(self, seconds: float) -> Json:
        text = self.connection.recv(timeout=max(0.0, seconds))
        self._transcript.note("", f"← {_shown(text)}")
        try:
            frame = json.loads(text, parse_float=Written)
        except ValueError:
            raise Broken("The service sent a frame that is not JSON") from None
        if not isinstance(frame, dict) or not isinstance(text, str):
            raise Broken("The service sent a frame that is not a JSON object in a text message")
        return frame

    def _note_close(self, closed: ConnectionClosed) -> None:
        self._transcript.note("", f"← close {_close_of(closed)}")


def _is_known(frame: Json) -> bool:
    """Return whether a widget must read this frame. Frames of unknown types are ignored."""
    kind = frame.get("type")
    expect_that(isinstance(kind, str), "The service sent a frame without a type")
    return kind in KINDS


def _is_unasked(frame: Json, has_id: bool) -> bool:
    """Return whether a frame answers no request, such as `reauth`, a message, a call's state or an offer."""
    if frame["type"] in {"reauth", "message"}:
        return True
    return has_id and frame["type"] in {"call", "signal"} and "id" not in frame


def _seconds_asked_for(refused: Json) -> float:
    seconds = float(refused.get("retry_after", 1))
    if seconds > LONGEST_WAIT:
        raise HarnessError(
            f"retry_after is {seconds:.0f} s; the suite waits at most {LONGEST_WAIT} s: allow more frames per person"
        )
    return max(1.0, seconds)


def _close_of(closed: ConnectionClosed) -> str:
    return f"{closed.rcvd.code} {closed.rcvd.reason}".strip() if closed.rcvd else "no close frame"


def _why(frame: Mapping[str, Any]) -> str:
    return f" ({frame['code']})" if frame.get("type") == "error" else ""


def _shown(text: str | bytes) -> str:
    try:
        return frame_text(json.loads(text))
    except ValueError:
        return repr(text)
