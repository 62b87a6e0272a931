"""The microphone and the WebRTC connection of a call. Only audio is sent, and only after the machine allows it."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

import js
from pyodide.ffi import JsException

from chatkey_widget.browser.host import LocalBlock
from chatkey_widget.browser.js_values import Listeners, member, thrown, to_plain
from chatkey_widget.candidates import dropped
from chatkey_widget.errors import Fault
from chatkey_widget.ports import MicrophoneRefused, SoundListener
from chatkey_widget.view import Device, DeviceKind

GATHER_SECONDS: Final = 1.0
"""How long the answer waits for candidates. Later candidates are sent one by one."""
LEVEL_SECONDS: Final = 0.1
"""How often the level of the microphone is measured."""

_FAULTS: Final = {
    "NotAllowedError": Fault.MICROPHONE_DENIED,
    "SecurityError": Fault.MICROPHONE_UNAVAILABLE,
    "NotFoundError": Fault.MICROPHONE_MISSING,
    "OverconstrainedError": Fault.MICROPHONE_MISSING,
    "NotReadableError": Fault.MICROPHONE_BUSY,
    "AbortError": Fault.MICROPHONE_BUSY,
}


_KINDS: Final[dict[str, DeviceKind]] = {"audioinput": "microphone", "audiooutput": "speaker"}


class BrowserSound:
    """`show_level` receives the level of the microphone from 0 to 1, several times a second."""

    def __init__(self, show_level: Callable[[float], None], local_block: LocalBlock) -> None:
        self._show_level = show_level
        self._local_block = local_block
        self._given: list[str] = []
        self._stream: Any = None
        self._peer: Any = None
        self._context: Any = None
        self._analyser: Any = None
        self._samples: Any = None
        self._audio: Any = None
        self._listener: SoundListener | None = None
        self._on_microphone = Listeners()
        self._on_devices = Listeners()
        self._on_peer = Listeners()
        self._speaker = "default"
        self._doing: set[asyncio.Future[None]] = set()
        self._level: asyncio.TimerHandle | None = None
        self._is_sending = False
        self._attempt = 0

    async def open_microphone(self, listener: SoundListener, microphone: str, speaker: str) -> None:
        """Ask for the microphone, the chosen one if it is there. Raises `MicrophoneRefused`."""
        self.close()
        attempt, self._listener = self._attempt, listener
        self._speaker = speaker or "default"
        devices = member(js.navigator, "mediaDevices")
        if not member(devices, "getUserMedia") or not _is_allowed():
            raise MicrophoneRefused(
                Fault.MICROPHONE_UNAVAILABLE, "The page may not use the microphone: no https, or a Permissions-Policy."
            )
        try:
            stream = await devices.getUserMedia(to_plain({"audio": {"deviceId": microphone} if microphone else True}))
        except JsException as error:
            raise _refusal(thrown(error)) from None
        if attempt != self._attempt:  # the call has ended meanwhile
            _stop(stream)
            return
        self._take(stream)
        self._on_devices.add(devices, "devicechange", lambda _event: self._soon(self._list()))
        self._soon(self._list())  # the call must not wait for the list, which Firefox may not send

    async def use(self, kind: DeviceKind, device_id: str) -> None:
        """Use another microphone or speaker. Raises `MicrophoneRefused`."""
        try:
            if kind == "microphone":
                await self._use_microphone(device_id)
            elif self._audio is not None:
                await self._audio.setSinkId(device_id)
                self._speaker = device_id
        except JsException as error:
            raise _refusal(thrown(error)) from None
        finally:
            await self._list()

    async def _use_microphone(self, device_id: str | None) -> None:
        attempt = self._attempt
        wanted = {"deviceId": {"exact": device_id}} if device_id else True
        stream = await js.navigator.mediaDevices.getUserMedia(to_plain({"audio": wanted}))
        if attempt != self._attempt:  # the call has ended meanwhile
            _stop(stream)
            return
        former = self._stream
        self._take(stream)
        for sender in self._peer.getSenders() if self._peer is not None else ():
            await sender.replaceTrack(stream.getAudioTracks()[0])
        _stop(former)

    def _take(self, stream: Any) -> None:
        """Use this stream as the microphone."""
        self._stop_measuring()
        self._on_microphone.remove_all()
        self._stream = stream
        for track in stream.getAudioTracks():
            track.enabled = self._is_sending
            self._on_microphone.add(track, "ended", lambda _event: self._soon(self._lose_microphone()))
        self._measure(stream)

    async def _lose_microphone(self) -> None:
        """Use another microphone, if there is one and the browser allows it without a question."""
        try:
            await self._use_microphone(None)
        except JsException:
            if self._listener is not None:
                self._listener.changed("microphone_lost")
        else:
            await self._list()

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this beside the present work, and keep it from being collected before it is done."""
        doing = asyncio.ensure_future(work)
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)

    async def _list(self) -> None:
        """Report the microphones and speakers. Some browsers list no speakers, or cannot use another one."""
        found = await js.navigator.mediaDevices.enumerateDevices()
        if self._listener is None or self._stream is None:
            return
        microphone = self._stream.getAudioTracks()[0].getSettings()
        used = {"audioinput": member(microphone, "deviceId")}
        if member(js.HTMLMediaElement.prototype, "setSinkId"):
            used["audiooutput"] = self._speaker
        self._listener.listed(
            tuple(
                Device(_KINDS[device.kind], device.deviceId, device.label, device.deviceId == used[device.kind])
                for device in found
                if device.kind in used and device.label
            )
        )

    async def answer(self, sdp: str, configuration: Mapping[str, object]) -> str | None:
        """Make the answer to an offer, or return None if a newer offer came.

        No sound goes out until `send`, and none is heard until `play`.
        """
        self._drop_peer()
        self._peer = peer = js.RTCPeerConnection.new(to_plain(configuration))
        self.send(on=False)
        self._given = [sdp]
        for track in self._stream.getAudioTracks():
            peer.addTrack(track, self._stream)
        self._on_peer.add(peer, "track", self._heard)
        self._on_peer.add(peer, "connectionstatechange", lambda _event: self._changed(peer))
        try:
            await peer.setRemoteDescription(to_plain({"type": "offer", "sdp": sdp}))
            await peer.setLocalDescription()
            await self._gathered(peer)
        except JsException:
            if peer is self._peer:
                raise
        if peer is not self._peer:
            return None
        self._on_peer.add(peer, "icecandidate", self._found)
        return str(peer.localDescription.sdp)

    async def add_candidate(self, candidate: str) -> None:
        if self._peer is not None and candidate:
            self._given.append(candidate)
            try:
                await self._peer.addIceCandidate(to_plain({"candidate": candidate, "sdpMLineIndex": 0}))
            except JsException:  # other candidates may connect the call
                if self._listener is not None:
                    self._listener.changed("candidate_ignored")

    def send(self, *, on: bool) -> None:
        """Let the sound of the microphone into the call, or stop it."""
        self._is_sending = on
        if self._stream is not None:
            for track in self._stream.getAudioTracks():
                track.enabled = on

    def play(self) -> None:
        """Play the other side's sound, within the click that asked for it."""
        if self._audio is not None:
            self._soon(self._played(self._audio.play()))

    async def is_blocked(self) -> bool:
        """Return whether the browser keeps the call from the other side's candidates in the local network.

        Without the permission for the local network, a browser drops such candidates and reports no error. Other
        reasons also drop candidates, so the permission must be denied.
        """
        if self._peer is None:
            return False
        try:
            stats = js.Array.from_((await self._peer.getStats()).values())
        except JsException:
            return False  # without statistics, the reason stays unknown
        used = {stat.port for stat in stats if stat.type == "remote-candidate"}
        for address in dropped(self._given, used):
            if await self._local_block(f"http://[{address}]" if ":" in address else f"http://{address}") == "denied":
                return True
        return False

    def close(self) -> None:
        """Close the connection and the microphone."""
        self._attempt += 1
        self._is_sending = False
        self._drop_peer()
        self._on_microphone.remove_all()
        self._on_devices.remove_all()
        self._stop_measuring()
        if self._stream is not None:
            _stop(self._stream)
            self._stream = None

    def _stop_measuring(self) -> None:
        if self._level is not None:
            self._level.cancel()
            self._level = None
        if self._context is not None:
            self._context.close()
            self._context = None

    def _drop_peer(self) -> None:
        self._on_peer.remove_all()
        if self._audio is not None:
            self._audio.pause()
            self._audio.srcObject = None
            self._audio = None
        if self._peer is not None:
            self._peer.close()
            self._peer = None

    async def _gathered(self, peer: Any) -> None:
        complete = asyncio.Event()

        def look(_event: Any = None) -> None:
            if peer.iceGatheringState == "complete":
                complete.set()

        self._on_peer.add(peer, "icegatheringstatechange", look)
        look()
        try:
            async with asyncio.timeout(GATHER_SECONDS):
                await complete.wait()
        except TimeoutError:
            return

    def _found(self, event: Any) -> None:
        if event.candidate and self._listener is not None:
            self._listener.found(event.candidate.candidate)

    def _heard(self, event: Any) -> None:
        """Keep the other side's sound for `play`, because this answer is not verified yet."""
        self._audio = js.Audio.new()
        self._audio.srcObject = js.MediaStream.new(js.Array.of(event.track))
        self._on_peer.add(self._audio, "pause", lambda _event: self.play())  # the system may have paused it
        if self._speaker != "default" and member(self._audio, "setSinkId"):
            self._soon(self._use_speaker(self._audio))

    async def _use_speaker(self, audio: Any) -> None:
        try:
            await audio.setSinkId(self._speaker)
        except JsException:  # it was unplugged meanwhile
            self._speaker = "default"

    async def _played(self, playing: Any) -> None:
        try:
            await playing
        except JsException:
            if self._audio is not None and self._listener is not None:
                self._listener.changed("silent")

    def _changed(self, peer: Any) -> None:
        if self._listener is None:
            return
        if peer.connectionState == "connected":
            self._listener.changed("connected")
        elif peer.connectionState in {"disconnected", "failed"}:
            self._listener.changed("interrupted")

    def _measure(self, stream: Any) -> None:
        """Measure a copy of the stream, which the call's own tracks do not silence."""
        try:
            self._context = js.AudioContext.new()
        except (AttributeError, JsException):
            return  # a browser without Web Audio shows no level
        self._analyser = self._context.createAnalyser()
        self._analyser.fftSize = 256
        self._context.createMediaStreamSource(stream).connect(self._analyser)
        self._samples = js.Uint8Array.new(self._analyser.fftSize)
        self._look_at_level()

    def _look_at_level(self) -> None:
        self._analyser.getByteTimeDomainData(self._samples)
        loudest = max(abs(sample - 128) for sample in self._samples.to_bytes())
        self._show_level(loudest / 128)
        self._level = asyncio.get_running_loop().call_later(LEVEL_SECONDS, self._look_at_level)


def _stop(stream: Any) -> None:
    for track in stream.getTracks():
        track.stop()


def _is_allowed() -> bool:
    """Return whether the Permissions-Policy of the page allows the microphone, as far as the browser says so."""
    policy = member(js.document, "permissionsPolicy") or member(js.document, "featurePolicy")
    return not member(policy, "allowsFeature") or bool(policy.allowsFeature("microphone"))


def _refusal(thrown_text: str) -> MicrophoneRefused:
    name, _, message = thrown_text.partition(":")
    if name == "NotAllowedError" and "dismissed" in message:
        return MicrophoneRefused(Fault.MICROPHONE_DISMISSED, "The question for the microphone was dismissed.")
    fault = _FAULTS.get(name, Fault.MICROPHONE_UNAVAILABLE)
    return MicrophoneRefused(fault, f"The browser gave no microphone: {name}.")
