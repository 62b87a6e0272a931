"""The sound of a call that this tab has started: the microphone, the negotiation, and the proof for the key (D-22)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, assert_never

from chatkey_protocol.frames import Kind
from chatkey_widget import call_proof
from chatkey_widget.context import Context
from chatkey_widget.effects import (
    AddCandidate,
    AnswerOffer,
    CloseSound,
    InspectSound,
    KeepCall,
    OpenMicrophone,
    PlaySound,
    SendSound,
    SignCall,
    UseDevice,
)
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.events import (
    CallAnswered,
    CallSigned,
    CandidateFound,
    DeviceRefused,
    DevicesFound,
    MicrophoneFailed,
    MicrophoneOpened,
    SoundChanged,
    SoundEvent,
    SoundInspected,
)
from chatkey_widget.frame_members import UnreadableFrame, text
from chatkey_widget.proof import Proof, compact
from chatkey_widget.service_link import ServiceLink
from chatkey_widget.texts import Notice
from chatkey_widget.view import Device, DeviceKind, SoundShown

CONNECT_SECONDS: Final = 15.0
"""The time in seconds within which the sound must connect after the call was accepted."""

SOUND_REVISION: Final = 3
"""The revision of the profile that adds sound to calls. An earlier service would close the socket after a `signal`."""

LOST_SECONDS: Final = 20.0
"""The time in seconds for which the sound may be interrupted."""


@dataclass(frozen=True, slots=True)
class Call:
    """This tab's call. `started` is the id of the frame that starts it, `call_id` the server's id, once it is known.

    `frame_id` is the id of the last frame that started or joined the call. It is empty while the browser asks for the
    microphone. `nonce` and `peer` are from the last offer.
    """

    started: str
    ref: int
    frame_id: str = ""
    call_id: str = ""
    active: bool = False
    microphone: Literal["closed", "opening", "open"] = "closed"
    nonce: str = ""
    peer: str = ""
    sdp: str = ""
    ask_id: str = ""
    proof: Proof | None = None
    answer_id: str = ""
    verified: bool = False
    """Whether the server has confirmed the answer to the last offer. No sound goes either way before."""
    connected: bool = False
    muted: bool = False
    devices: tuple[Device, ...] = ()
    silent: bool = False
    """Whether the browser refuses to play the sound until the person presses a button."""
    late: bool = False
    """Whether the time in which the sound must connect is over, and the browser was asked why."""


class Sound:
    """Negotiates the sound of one call at a time. The calls of other tabs have no sound here."""

    def __init__(self, ctx: Context, link: ServiceLink) -> None:
        self._ctx = ctx
        self._link = link
        self.call: Call | None = None
        self.last_proof: Proof | None = None

    # called by the chat

    def start(self, started: str) -> None:
        """Open the microphone for a call that this tab starts. The call must not ring before the microphone is open."""
        self.close()
        self.call = Call(started, self._ctx.new_ref())
        self._open_microphone()

    @property
    def is_asking(self) -> bool:
        """Whether the browser asks for the microphone, so that the call does not ring yet."""
        return self.call is not None and not self.call.frame_id and not self.call.active

    def ring(self) -> str | None:
        """Return the id of the frame that starts the call, if the microphone has just been opened for it."""
        if self.call is None or not self.is_asking or self.call.microphone != "open":
            return None
        self.call = replace(self.call, frame_id=self.call.started)
        self._ctx.do(KeepCall(self.call.started))
        return self.call.started

    def resume(self, started: str) -> None:
        """Expect to join the call that an earlier page of this tab had."""
        self.call = Call(started, self._ctx.new_ref(), active=True)

    def joining(self, frame_id: str) -> str | None:
        """Note the id of the frame with which the call is joined, and return the id of the frame that started it."""
        if self.call is None or not self.call.active:
            return None
        self.call = replace(self.call, frame_id=frame_id)
        return self.call.started

    def rang(self, frame_id: object, call_id: str) -> None:
        """Note the server's id of the call, from the answer to the frame that started or joined it."""
        if self.call is not None and frame_id == self.call.frame_id:
            self.call = replace(self.call, call_id=call_id)

    def accepted(self, call_id: str) -> None:
        """Ask for an offer as soon as the microphone is open, unless the sound is connected.

        At a service of an earlier revision, the call goes on without sound.
        """
        call = self.call
        if call is None or call_id != call.call_id or call.connected:
            return
        if self._link.revision < SOUND_REVISION:
            self.close()
            return
        self.call = replace(call, active=True)
        self._expect(CONNECT_SECONDS)
        self._open_microphone()
        self._ask()

    def late(self) -> None:
        """Ask the browser why the sound is not connected. Its answer ends the call, unless the sound connects first."""
        if self.call is not None:
            self.call = replace(self.call, late=True)
            self._ctx.do(InspectSound(self.call.ref))

    def close(self) -> None:
        """Stop the sound at once, and close the microphone."""
        if self.call is not None:
            self.call = None
            self._ctx.cancel_timer("sound")
            self._ctx.do(KeepCall(None))
            self._ctx.do(CloseSound())

    def frame(self, frame: Mapping[str, object]) -> None:
        """Handle a `signal` of the server. Raises `UnreadableFrame`."""
        call = self.call
        if call is None or text(frame, "call_id") != call.call_id:
            return
        match text(frame, "event"):
            case "offer":
                self._offered(call, frame)
            case "candidate":
                self._ctx.do(AddCandidate(text(frame, "candidate")))
            case "passed":
                if frame.get("id") == call.answer_id:
                    self._verified(call)
            case _:
                pass  # a later server may send more

    def refused(self, frame_id: str, code: str, message: str) -> bool:
        """Close the sound if this frame of its call was refused. Return whether the frame belongs to the call.

        After a refused answer, the server ends the call. A call that cannot be joined has ended meanwhile. If the
        question for an offer is refused, the call belongs to another tab, and goes on there.
        """
        if self.call is None or frame_id not in {self.call.answer_id, self.call.frame_id, self.call.ask_id}:
            return False
        if frame_id == self.call.ask_id:
            self.close()
            return True
        is_answer = frame_id == self.call.answer_id
        self.close()
        if is_answer:
            self._ctx.report(WidgetError(code, message, phase="chat", said="call_unsafe"))
        return is_answer

    @property
    def shown(self) -> SoundShown:
        """What the screen shows of the sound."""
        if self.is_asking:
            return SoundShown("asking")
        if self.call is None or not self.call.active:
            return SoundShown()
        is_on = self.call.connected and self.call.verified
        state: Literal["connecting", "connected"] = "connected" if is_on else "connecting"
        return SoundShown(state, self.call.muted, self.call.silent, self.call.devices)

    def mute(self, *, muted: bool) -> None:
        if self.call is not None:
            self.call = replace(self.call, muted=muted)
            if self.call.verified:
                self._ctx.do(SendSound(not muted))

    def use(self, kind: DeviceKind, device_id: str) -> None:
        if self.call is not None:
            self._ctx.do(UseDevice(self.call.ref, kind, device_id))

    def play(self) -> None:
        """Try again to play the sound, because the person has pressed a button."""
        if self.call is not None and self.call.verified:
            self.call = replace(self.call, silent=False)
            self._ctx.do(PlaySound())

    # what the browser reports

    def handle(self, event: SoundEvent) -> Fault | None:
        """Handle an event of the call's sound. Return the fault for which the call must end."""
        call = self.call
        if call is None or event.ref != call.ref:
            return None
        match event:
            case MicrophoneOpened():
                self.call = replace(call, microphone="open")
                self._ask()
            case MicrophoneFailed(_, fault, _):
                return fault
            case CallAnswered(_, sdp):
                self._prove(call, sdp)
            case CallSigned(_, signature):
                self._answer(call, signature)
            case CandidateFound(_, candidate):
                self._send("candidate", candidate=candidate)
            case DevicesFound(_, devices):
                self.call = replace(call, devices=devices)
            case DeviceRefused(_, refused, reason):
                self._ctx.report(WidgetError(refused, reason))
            case SoundChanged(_, state):
                return self._changed(call, state)
            case SoundInspected(_, blocked) if call.late:
                return Fault.CALL_LOCAL_NETWORK if blocked else Fault.CALL_UNCONNECTED
            case SoundInspected():
                pass  # the sound has connected, or there is a new offer
            case _:
                assert_never(event)
        return None

    def _expect(self, seconds: float) -> None:
        """Give the sound this time to connect."""
        if self.call is not None:
            self.call = replace(self.call, late=False)
            self._ctx.set_timer("sound", seconds)

    def _works(self) -> None:
        if self.call is not None:
            self.call = replace(self.call, late=False)
            self._ctx.cancel_timer("sound")

    def _open_microphone(self) -> None:
        if self.call is not None and self.call.microphone == "closed":
            self.call = replace(self.call, microphone="opening")
            self._ctx.do(OpenMicrophone(self.call.ref))

    def _ask(self) -> None:
        call = self.call
        if call is not None and call.call_id and call.active and call.microphone == "open" and not call.connected:
            self.call = replace(call, ask_id=self._send("ask"))

    def _offered(self, call: Call, frame: Mapping[str, object]) -> None:
        """Answer an offer whose fingerprint is the one that the server vouches for."""
        sdp, vouched = text(frame, "sdp"), text(frame, "fingerprint")
        servers = frame.get("ice_servers")
        if not isinstance(servers, list):
            raise UnreadableFrame("ice_servers")
        if call_proof.fingerprint(sdp) != vouched:
            self._ctx.report(WidgetError(Fault.CALL_UNSAFE, "The offer has another fingerprint than the server says."))
            self._end()
            return
        nonce = text(frame, "nonce")
        self.call = replace(call, nonce=nonce, peer=vouched, proof=None, answer_id="", verified=False, connected=False)
        self._expect(CONNECT_SECONDS)
        self._ctx.do(AnswerOffer(call.ref, sdp, servers))

    def _prove(self, call: Call, sdp: str) -> None:
        own = call_proof.fingerprint(sdp)
        if own is None:
            self._ctx.report(WidgetError(Fault.CALL_UNSAFE, "The browser's answer has no fingerprint."))
            self._end()
            return
        made = call_proof.build(
            self._ctx.connection_key,
            call_id=call.call_id,
            nonce=call.nonce,
            fingerprint=own,
            peer_fingerprint=call.peer,
            jti=self._ctx.chance.token(),
            now=self._ctx.server_now,
        )
        self.call = replace(call, proof=made, sdp=sdp)
        self.last_proof = made
        self._ctx.emit("call:proof", header=made.header, claims=made.claims)
        self._ctx.do(SignCall(call.ref, made.signing_input))

    def _answer(self, call: Call, signature: bytes) -> None:
        if call.proof is None:
            return
        answer_id = self._send("answer", sdp=call.sdp, proof=compact(call.proof.signing_input, signature))
        self.call = replace(call, answer_id=answer_id)

    def _verified(self, call: Call) -> None:
        """Let the sound through in both directions, because the server has verified the answer."""
        self.call = replace(call, verified=True)
        if call.connected:
            self._works()
        self._ctx.emit("call:verified", call_id=call.call_id)
        self._ctx.do(SendSound(not call.muted))
        self._ctx.do(PlaySound())

    def _changed(self, call: Call, state: str) -> Fault | None:
        self._ctx.emit("call:sound", state=state)
        if state == "connected":
            self.call = replace(call, connected=True)
            if call.verified:
                self._works()
        elif state == "interrupted":
            if "sound" not in self._ctx.timers and not call.late:  # otherwise its time runs, or is over
                self._expect(LOST_SECONDS)
        elif state == "silent":
            self.call = replace(call, silent=True)
        elif state == "microphone_lost":
            return Fault.MICROPHONE_LOST
        return None

    def _send(self, action: str, **members: str) -> str:
        """Send a signal if there is a connection, and return its id."""
        call, frame_id = self.call, self._ctx.chance.token()
        if call is not None and self._link.is_ready:
            frame = {"type": Kind.SIGNAL, "id": frame_id, "call_id": call.call_id, "action": action, **members}
            self._link.send(frame)
        return frame_id

    def _end(self) -> None:
        """End the call, because its sound is not safe."""
        if self._link.is_ready:
            self._link.send({"type": Kind.CALL, "id": self._ctx.chance.token(), "action": "end"})
        self.close()


def why_ended(code: object) -> WidgetError | None:
    """Return the error for a call that ended without being hung up, or None."""
    if not isinstance(code, str):
        return None
    said: Notice | None = "call_unsafe" if code.startswith("proof_") else None
    return WidgetError(code, "The call ended, although nobody hung up.", phase="chat", said=said)
