"""A widget in a call, and the offers and answers of its other side."""

from collections.abc import Mapping

from tests.widget.driver import Driver

from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events

AGENT, OWN, OTHER = (":".join([pair] * 32) for pair in ("A1", "B2", "C3"))
NONCE = "the-agents-nonce-1"
CALL_ID = "5f0c2d1e-0000-4000-8000-000000000001"


def sdp(fingerprint: str) -> str:
    return f"v=0\r\nm=audio 9 x 111\r\na=fingerprint:sha-256 {fingerprint}\r\n"


class Caller:
    """A widget in a call, whose browser and server do what a test says."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver

    def begin(self, *, accepted: bool = True) -> None:
        self.driver.feed(events.CallAsked("start"))
        frame_id = self.sent(Kind.CALL)["id"]
        self.driver.frame(type="call", call_id=CALL_ID, state="ringing", id=frame_id)
        if accepted:
            self.driver.frame(type="call", call_id=CALL_ID, state="active")

    def offer(
        self,
        *,
        fingerprint: str = AGENT,
        vouched: str = AGENT,
        nonce: str = NONCE,
        more: Mapping[str, object] | None = None,
    ) -> None:
        members = {"sdp": sdp(fingerprint), "nonce": nonce, "fingerprint": vouched, "ice_servers": [], **(more or {})}
        self.driver.frame(type="signal", call_id=CALL_ID, event="offer", **members)

    def answer(self) -> dict[str, object]:
        """Let the browser answer and sign, and return the answer that the widget sends."""
        self.driver.feed(events.CallAnswered(self.ref, sdp(OWN)), events.CallSigned(self.ref, bytes(64)))
        return self.sent(Kind.SIGNAL)

    def connect(self) -> None:
        self.begin()
        self.offer()
        answer = self.answer()
        self.driver.frame(type="signal", call_id=CALL_ID, event="passed", id=answer["id"])
        self.driver.feed(events.SoundChanged(self.ref, "connected"))

    @property
    def ref(self) -> int:
        return self.driver.last(effects.OpenMicrophone).ref

    def sent(self, kind: Kind) -> dict[str, object]:
        return dict(self.driver.frames(kind)[-1])

    def is_silent(self) -> bool:
        """Return whether the widget has closed the microphone and has not opened it again."""
        kinds = (effects.OpenMicrophone, effects.CloseSound)
        done = [effect for effect in self.driver.done if isinstance(effect, kinds)]
        return not done or isinstance(done[-1], effects.CloseSound)
