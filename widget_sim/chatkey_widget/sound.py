"""The sound of a call that this tab has started: the microphone, the negotiation, and the proof for the key (D-22)."""

from collections import deque
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
from chatkey_widget.errors import MEANINGS, Fault, WidgetError
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
    SoundState,
)
from chatkey_widget.frame_members import UnreadableFrame, text
from chatkey_widget.kept_call import KeptCall
from chatkey_widget.proof import Proof, compact
from chatkey_widget.service_link import ServiceLink
from chatkey_widget.texts import Notice
from chatkey_widget.view import Device, DeviceKind, SoundShown

CONNECT_SECONDS: Final = 15.0
"""The time in seconds within which the sound must connect after the call was accepted."""

SOUND_REVISION: Final = 3
"""The revision of the profile that adds sound to calls. An earlier service would close the socket after a `signal`."""

SDP_CHARS: Final = 8000
"""The maximum length of a description, in characters. The service closes the socket after a longer one."""

OF_THE_OTHER_SIDE: Final[Notice] = "other_microphone"
"""The notice for a microphone that the other side lacks."""

LATEST: Final = 64
"""The number of signals whose ids are remembered, because the server may refuse them after the call has ended."""

LOST_SECONDS: Final = 20.0
"""The time in seconds for which the sound may be interrupted."""


@dataclass(frozen=True, slots=True)
class Call:
    """This tab's call. `call_id` is the server's id, once it is known.

    `frame_id` is the id of the last frame that started or joined the call. It is empty while the browser asks for the
    microphone. `nonce` and `peer` are from the last offer.
    """

    kept: KeptCall
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
    state: Literal["connecting", "connected", "interrupted"] = "connecting"
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
        self._kept: KeptCall | None = None
        self._sent: deque[str] = deque(maxlen=LATEST)

    # called by the chat

    def start(self, started: str) -> None:
        """Open the microphone for a call that this tab starts. The call must not ring before the microphone is open."""
        self.close()
        self.call = Call(KeptCall(started), self._ctx.new_ref())
        self._open_microphone()

    @property
    def is_asking(self) -> bool:
        """Whether the browser asks for the microphone, so that the call does not ring yet."""
        return self.call is not None and not self.call.frame_id and not self.call.active

    @property
    def is_ringing(self) -> bool:
        return self.call is not None and not self.call.active and not self.is_asking

    def ring(self) -> str | None:
        """Return the id of the frame that starts the call, if the microphone has just been opened for it."""
        if self.call is None or not self.is_asking or self.call.microphone != "open":
            return None
        self.call = replace(self.call, frame_id=self.call.kept.started)
        return self.call.frame_id

    def resume(self, kept: KeptCall) -> None:
        """Expect to join the call that an earlier page of this tab had."""
        self.call = Call(kept, self._ctx.new_ref(), active=True)
        self._kept = kept

    def keep(self) -> None:
        """Store what the next page of this tab needs of the call, if it has changed."""
        kept = None if self.call is None or self.is_asking else self.call.kept
        if kept != self._kept:
            self._kept = kept
            self._ctx.do(KeepCall(kept))

    def joining(self, frame_id: str) -> str | None:
        """Note the id of the frame with which the call is joined, and return the id of the frame that started it."""
        if self.call is None or not self.call.active:
            return None
        self.call = replace(self.call, frame_id=frame_id)
        return self.call.kept.started

    def rang(self, frame_id: object, call_id: str) -> None:
        """Note the server's id of the call, from the answer to the frame that started or joined it."""
        if self.call is not None and frame_id == self.call.frame_id:
            self.call = replace(self.call, call_id=call_id)

    def accepted(self, call_id: str) -> None:
        """Ask for an offer as soon as the microphone is open, unless the sound is connected.

        At a service of an earlier revision, the call goes on without sound.
        """
        call = self.call
        if call is None or call_id != call.call_id or call.state == "connected":
            return
        kept = replace(call.kept, answered_at=call.kept.answered_at or self._ctx.now)
        self.call = replace(call, active=True, kept=kept)
        if not self._has_sound:
            self._ctx.do(CloseSound())
            return
        self._expect(CONNECT_SECONDS)
        self._open_microphone()
        self._ask()

    @property
    def seconds(self) -> int | None:
        """The seconds since this tab's call was answered, or None."""
        answered_at = self.call.kept.answered_at if self.call is not None else 0
        return max(0, int(self._ctx.now - answered_at)) if answered_at else None

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
            self._ctx.do(CloseSound())

    def frame(self, frame: Mapping[str, object]) -> WidgetError | None:
        """Handle a `signal` of the server. Return the error for which the call must end. Raises `UnreadableFrame`."""
        call = self.call
        if call is None or text(frame, "call_id") != call.call_id:
            return None
        match text(frame, "event"):
            case "offer":
                return self._offered(call, frame)
            case "candidate":
                self._ctx.do(AddCandidate(text(frame, "candidate")))
            case "passed":
                if frame.get("id") == call.answer_id:
                    self._verified(call)
            case _:
                pass  # a later server may send more
        return None

    def refused(self, frame_id: str, code: str, message: str) -> bool:
        """Close the sound if its call cannot go on. Return whether the refused frame was a signal of a call.

        After a refused answer, the server ends the call. A call that cannot be joined has ended meanwhile. If the
        question for an offer is refused, the call belongs to another tab, and goes on there. A refused candidate may
        belong to a call that has already ended.
        """
        call = self.call
        if call is not None and frame_id in {call.answer_id, call.frame_id, call.ask_id}:
            self.close()
            if frame_id == call.answer_id:
                self._ctx.report(WidgetError(code, message, phase="chat", said="call_unsafe"))
        return frame_id in self._sent

    @property
    def shown(self) -> SoundShown:
        """What the screen shows of the sound."""
        if self.is_asking:
            return SoundShown("asking")
        call = self.call
        if call is None or not call.active or not self._has_sound:
            return SoundShown()
        state = "connecting" if call.state == "connected" and not call.verified else call.state
        return SoundShown(state, call.kept.muted, call.silent, call.devices)

    def mute(self, *, muted: bool) -> None:
        if self.call is not None:
            self.call = replace(self.call, kept=replace(self.call.kept, muted=muted))
            if self.call.verified:
                self._ctx.do(SendSound(not muted))

    def use(self, kind: DeviceKind, device_id: str) -> None:
        if self.call is not None:
            kept = self.call.kept
            is_speaker = kind == "speaker"
            chosen = replace(kept, speaker=device_id) if is_speaker else replace(kept, microphone=device_id)
            self.call = replace(self.call, kept=chosen)
            self._ctx.do(UseDevice(self.call.ref, kind, device_id))

    @property
    def _has_sound(self) -> bool:
        return self._link.revision >= SOUND_REVISION

    def play(self) -> None:
        """Try again to play the sound, because the person has pressed a button."""
        if self.call is not None and self.call.verified:
            self.call = replace(self.call, silent=False)
            self._ctx.do(PlaySound())

    # what the browser reports

    def handle(self, event: SoundEvent) -> WidgetError | None:
        """Handle an event of the call's sound. Return the error for which the call must end."""
        call = self.call
        if call is None or event.ref != call.ref:
            return None
        match event:
            case MicrophoneOpened():
                self.call = replace(call, microphone="open")
                self._ask()
            case MicrophoneFailed(_, fault, reason):
                return WidgetError(fault, reason)
            case CallAnswered(_, sdp):
                return self._prove(call, sdp)
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
                return _unconnected(is_blocked=blocked)
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
            self._ctx.do(OpenMicrophone(self.call.ref, self.call.kept.microphone, self.call.kept.speaker))

    def _ask(self) -> None:
        call = self.call
        if call is None or not call.call_id or not call.active or call.microphone != "open":
            return
        if call.state != "connected" and self._link.is_ready:
            self.call = replace(call, ask_id=self._send("ask"))

    def _offered(self, call: Call, frame: Mapping[str, object]) -> WidgetError | None:
        """Answer an offer whose fingerprint is the one that the server vouches for."""
        sdp, vouched = text(frame, "sdp"), text(frame, "fingerprint")
        servers = frame.get("ice_servers")
        if not isinstance(servers, list):
            raise UnreadableFrame("ice_servers")
        if call_proof.fingerprint(sdp) != vouched:
            return WidgetError(Fault.CALL_UNSAFE, "The offer has another fingerprint than the server says.")
        nonce = text(frame, "nonce")
        if nonce == call.nonce:
            return None  # the agent's page has sent it again after a reconnection
        self.call = replace(call, nonce=nonce, peer=vouched, proof=None, answer_id="", verified=False)
        self.call = replace(self.call, state="connecting", silent=False)
        self._expect(CONNECT_SECONDS)
        policy = "relay" if frame.get("relay_only") is True else "all"
        self._ctx.do(AnswerOffer(call.ref, sdp, {"iceServers": servers, "iceTransportPolicy": policy}))
        return None

    def _prove(self, call: Call, sdp: str) -> WidgetError | None:
        if len(sdp) > SDP_CHARS:
            return WidgetError(Fault.CALL_UNCONNECTED, f"The browser's answer has more than {SDP_CHARS} characters.")
        own = call_proof.fingerprint(sdp)
        if own is None:
            return WidgetError(Fault.CALL_UNSAFE, "The browser's answer has no fingerprint.")
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
        return None

    def _answer(self, call: Call, signature: bytes) -> None:
        if call.proof is None:
            return
        answer_id = self._send("answer", sdp=call.sdp, proof=compact(call.proof.signing_input, signature))
        self.call = replace(call, answer_id=answer_id)

    def _verified(self, call: Call) -> None:
        """Let the sound through in both directions, because the server has verified the answer."""
        self.call = replace(call, verified=True)
        if call.state == "connected":
            self._works()
        self._ctx.emit("call:verified", call_id=call.call_id)
        self._ctx.do(SendSound(not call.kept.muted))
        self._ctx.do(PlaySound())

    def _changed(self, call: Call, state: SoundState) -> WidgetError | None:
        if state == "candidate_ignored":
            self._ctx.note("call:candidate_ignored", {})
            return None
        self._ctx.emit("call:sound", state=state)
        match state:
            case "connected":
                self.call = replace(call, state="connected")
                if call.verified:
                    self._works()
            case "interrupted":
                self._interrupted(call)
            case "silent":
                self.call = replace(call, silent=True)
            case "microphone_lost":
                return WidgetError(Fault.MICROPHONE_LOST, "The microphone of the call was taken away.")
            case _:
                assert_never(state)
        return None

    def _interrupted(self, call: Call) -> None:
        """Ask for a new offer, because an address may have changed, or the agent's page was reloaded."""
        if "sound" not in self._ctx.timers and not call.late:  # otherwise its time runs, or is over
            self._expect(LOST_SECONDS)
        if self.call is not None and call.state == "connected":
            self.call = replace(self.call, state="interrupted")
            self._ask()

    def _send(self, action: str, **members: str) -> str:
        """Send a signal if there is a connection, and return its id."""
        call, frame_id = self.call, self._ctx.chance.token()
        self._sent.append(frame_id)
        if call is not None and self._link.is_ready:
            frame = {"type": Kind.SIGNAL, "id": frame_id, "call_id": call.call_id, "action": action, **members}
            self._link.send(frame)
        return frame_id


def why_ended(code: str, message: str) -> WidgetError:
    """Return the error for a call that the server has ended or refused. A microphone is the other side's."""
    if code.startswith("proof_"):
        said: Notice | None = "call_unsafe"
    elif code.startswith("microphone_"):
        said = OF_THE_OTHER_SIDE
    else:
        said = None if code in MEANINGS else "call_ended"
    return WidgetError(code, message, phase="chat", said=said)


def _unconnected(*, is_blocked: bool) -> WidgetError:
    if is_blocked:
        message = "The browser keeps the call from the other side, which is in the local network."
        return WidgetError(Fault.CALL_LOCAL_NETWORK, message)
    return WidgetError(Fault.CALL_UNCONNECTED, "The sound of the call did not connect in time.")
