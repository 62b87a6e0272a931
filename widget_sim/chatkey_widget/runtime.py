"""Runs the state machine. Its effects are carried out through the ports, and the resulting events are passed to it."""

import asyncio
import json
from collections import deque
from collections.abc import Coroutine, Mapping
from typing import Final, assert_never
from urllib.parse import quote, urlencode

from chatkey_protocol.names import CHOOSE_ACCOUNT, CONFIG_PATH, MEMBER_TOKEN_PATH, VISITOR_TOKEN_PATH
from chatkey_protocol.storage_keys import CALL_LOCK_PREFIX, TOKEN_LOCK_PREFIX
from chatkey_widget import effects, events, kept_call
from chatkey_widget.context import Settings
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.json_text import read_json
from chatkey_widget.kept_call import KeptCall
from chatkey_widget.machine import Machine
from chatkey_widget.ports import (
    Answer,
    HostFailed,
    KeyUnavailable,
    LocalNetworkBlocked,
    MicrophoneRefused,
    PopupListener,
    Ports,
    SoundListener,
    Unreachable,
    Wire,
    WireListener,
)
from chatkey_widget.timers import Timer
from chatkey_widget.view import DeviceKind

GET_TOKEN_SECONDS: Final = 10.0
SPREAD_SECONDS: Final = 0.3
"""The time in seconds for which the lock is held after a token was stored.

Other tabs receive the change of localStorage a moment later. They must know the new token before they get the lock.
"""

KEY_SECONDS: Final = 15.0
HTTP_SECONDS: Final = 15.0
INSPECT_SECONDS: Final = 2.0
LONGEST_TIMER: Final = 86_400.0
"""The longest timer, in seconds.

Browsers fire timers longer than 2^31 ms immediately. A timer that fires too early does no harm here.
"""


class Runtime:
    def __init__(self, machine: Machine, settings: Settings, ports: Ports) -> None:
        self.machine = machine
        self._settings = settings
        self._ports = ports
        self._waiting: deque[events.Event] = deque()
        self._busy = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._flights: dict[int, asyncio.Task[None]] = {}
        self._calls: dict[int, effects.CallGetToken] = {}
        self._timers: dict[Timer, asyncio.TimerHandle] = {}
        self._wires: dict[int, Wire] = {}
        self._held = ""

    def feed(self, event: events.Event) -> None:
        """Pass an event to the state machine, and carry out the effects.

        Events that result from the effects are processed in order.
        """
        self._waiting.append(event)
        if self._busy:
            return
        self._busy = True
        try:
            while self._waiting:
                for effect in self.machine.handle(self._waiting.popleft(), self._ports.now()):
                    self._do(effect)
        finally:
            self._busy = False

    def _do(self, effect: effects.Effect) -> None:  # noqa: PLR0912 (one line per effect)
        ports = self._ports
        match effect:
            case effects.PrepareKey():
                self._spawn(self._prepare_key())
            case effects.LoadConfiguration():
                self._spawn(self._load_configuration())
            case effects.LoadVisitorToken(ref, uid):
                self._spawn(self._load_token(ref, VISITOR_TOKEN_PATH, {"uid": uid}))
            case effects.ExchangeIdentityToken(ref, token, jkt):
                self._spawn(self._load_token(ref, MEMBER_TOKEN_PATH, {"auth": token, "jkt": jkt}))
            case effects.AwaitTurn(ref, patience):
                self._flights[ref] = self._spawn(self._await_turn(ref, patience))
            case effects.CallGetToken(ref):
                self._calls[ref] = effect
            case effects.AbortGetToken(ref):
                self._flights.pop(ref).cancel()
            case effects.StoreToken(token):
                self._store(token)
            case effects.DropToken(token):
                ports.store.drop(token)
            case effects.AnnounceLogout():
                ports.store.announce_logout()
            case effects.KeepSignIn(sign_in):
                ports.store.keep_sign_in(sign_in)
            case effects.KeepUnsent(unsent):
                ports.store.keep_unsent(unsent)
            case effects.KeepCall(kept):
                self._keep_call(kept)
            case effects.GiveBack(text):
                ports.screen.give_back(text)
            case effects.SetTimer(name, seconds):
                self._set_timer(name, seconds)
            case effects.CancelTimer(name):
                self._cancel_timer(name)
            case effects.Emit(name, detail):
                ports.host.emit(name, detail)
            case effects.Show(view):
                ports.screen.show(view)
            case effects.OpenPopup(ref, url, name):
                self._open_popup(ref, url, name)
            case effects.ClosePopup():
                ports.popups.close()
            case effects.TearDown():
                self._tear_down()
            case (
                effects.OpenMicrophone()
                | effects.AnswerOffer()
                | effects.SignCall()
                | effects.AddCandidate()
                | effects.SendSound()
                | effects.UseDevice()
                | effects.PlaySound()
                | effects.InspectSound()
                | effects.CloseSound()
            ):
                self._do_with_sound(effect)
            case effects.OpenSocket() | effects.SignProof() | effects.Send() | effects.CloseSocket():
                self._do_on_wire(effect)
            case _:
                assert_never(effect)

    def _do_on_wire(self, effect: effects.WireEffect) -> None:
        match effect:
            case effects.OpenSocket(ref, uri):
                self._open_wire(ref, uri)
            case effects.SignProof(ref, signing_input):
                self._spawn(self._sign(ref, signing_input))
            case effects.Send(ref, frame):
                self._send(ref, frame)
            case effects.CloseSocket(ref, code):
                self._close_wire(ref, code)
            case _:
                assert_never(effect)

    def _do_with_sound(self, effect: effects.SoundEffect) -> None:
        sound = self._ports.sound
        match effect:
            case effects.OpenMicrophone():
                self._spawn(self._open_microphone(effect))
            case effects.AnswerOffer(ref, sdp, configuration):
                self._spawn(self._answer_offer(ref, sdp, configuration))
            case effects.SignCall(ref, signing_input):
                self._spawn(self._sign_call(ref, signing_input))
            case effects.AddCandidate(candidate):
                self._spawn(sound.add_candidate(candidate))
            case effects.SendSound(on):
                sound.send(on=on)
            case effects.UseDevice(ref, kind, device_id):
                self._spawn(self._use_device(ref, kind, device_id))
            case effects.PlaySound():
                sound.play()
            case effects.InspectSound(ref):
                self._spawn(self._inspect_sound(ref))
            case effects.CloseSound():
                sound.close()
            case _:
                assert_never(effect)

    # requests to the service

    async def _prepare_key(self) -> None:
        try:
            async with asyncio.timeout(KEY_SECONDS):
                prepared = await self._ports.keys.prepare()
        except TimeoutError:
            self.feed(events.KeyTimedOut())
            return
        except KeyUnavailable as error:
            self.feed(events.KeyFailed(str(error)))
            return
        if prepared.degraded is not None:
            self._ports.store.keep_in_memory()
        cached = self._ports.store.read()
        store = self._ports.store
        kept = (store.sign_in(), store.unsent(), await self._call_of_this_tab())
        self.feed(events.KeyReady(prepared.key, cached, prepared.degraded, prepared.lost, *kept))

    async def _call_of_this_tab(self) -> KeptCall | None:
        """Return the call that an earlier page of this tab had.

        If the person duplicated the tab, the browser has copied the entry, and the other tab still has the call.
        """
        kept = kept_call.read(self._ports.store.call())
        if kept is None or await self._ports.locks.claim(CALL_LOCK_PREFIX + kept.started):
            return kept
        self._ports.store.keep_call(None)
        return None

    def _keep_call(self, kept: KeptCall | None) -> None:
        self._ports.store.keep_call(None if kept is None else kept.write())
        if kept is not None and kept.started != self._held:
            self._held = kept.started
            self._spawn(self._hold_call(kept.started))

    async def _hold_call(self, started: str) -> None:
        await self._ports.locks.claim(CALL_LOCK_PREFIX + started)

    async def _load_configuration(self) -> None:
        try:
            answer = await self._get(CONFIG_PATH)
        except Unreachable as error:
            self.feed(events.ConfigurationFailed(0, message=str(error)))
            return
        data = _data(answer)
        if data is None:
            code, message = _refusal(answer)
            self.feed(events.ConfigurationFailed(answer.status, code, message, answer.retry_after))
        else:
            self.feed(events.ConfigurationLoaded(data))

    async def _load_token(self, ref: int, path: str, query: Mapping[str, str]) -> None:
        # A service worker's cache may ignore `no-store`, but it has no entry for an address with a new `t`.
        at = str(round(self._ports.now() * 1000))
        try:
            answer = await self._get(path, {**query, "t": at})
        except Unreachable as error:
            self.feed(events.TokenFailed(ref, 0, message=str(error)))
            return
        data = _data(answer) or {}
        token, socket_uri = data.get("auth_token"), data.get("socket_uri")
        if isinstance(token, str) and isinstance(socket_uri, str):
            self.feed(events.TokenLoaded(ref, token, socket_uri))
        else:
            code, message = _refusal(answer)
            self.feed(events.TokenFailed(ref, answer.status, code, message, answer.retry_after))

    async def _get(self, path: str, query: Mapping[str, str] | None = None) -> Answer:
        address = self._settings.base_url + path.format(id=quote(self._settings.provider_id, safe=""))
        try:
            async with asyncio.timeout(HTTP_SECONDS):
                return await self._ports.http.get(f"{address}?{urlencode(query)}" if query else address)
        except LocalNetworkBlocked:
            self.feed(events.LocalNetworkBlocked(address))
            raise
        except TimeoutError:
            raise Unreachable(f"{address} did not answer within {HTTP_SECONDS:.0f} s.") from None

    def _store(self, token: str) -> None:
        refused = self._ports.store.write(token)
        if refused is not None:
            self.feed(events.TokenNotStored(refused))

    # calls of the page

    async def _await_turn(self, ref: int, patience: float) -> None:
        """Hold the lock of all tabs while this tab may call `getToken`.

        If `getToken` is called, hold the lock until `getToken` has returned a result.
        """
        try:
            async with self._ports.locks.hold(TOKEN_LOCK_PREFIX + self._settings.provider_id, patience):
                stored = self._ports.store.read()
                self.feed(events.TurnCame(ref, stored))
                call = self._calls.pop(ref, None)
                if call is not None:
                    self.feed(await self._answer_of_page(call))
                    if self._ports.store.read() != stored:
                        await asyncio.sleep(SPREAD_SECONDS)
        finally:
            self._flights.pop(ref, None)

    async def _answer_of_page(self, effect: effects.CallGetToken) -> events.Event:
        try:
            async with asyncio.timeout(GET_TOKEN_SECONDS):
                value = await self._ports.host.get_token(effect.jkt, effect.reason, effect.attempt)
        except TimeoutError:
            return events.GetTokenTimedOut(effect.ref)
        except HostFailed as error:
            return events.GetTokenFailed(effect.ref, str(error))
        return events.GetTokenReturned(effect.ref, value)

    # the socket

    def _open_wire(self, ref: int, uri: str) -> None:
        listener = WireListener(
            opened=lambda: self.feed(events.SocketOpened(ref)),
            blocked=lambda: self.feed(events.LocalNetworkBlocked(uri)),
            received=lambda text: self.feed(events.FrameReceived(ref, _frame(text))),
            closed=lambda code: self._wire_closed(ref, code),
        )
        try:
            self._wires[ref] = self._ports.wires.open(uri, listener)
        except Unreachable:
            self.feed(events.SocketClosed(ref, 1006))

    def _wire_closed(self, ref: int, code: int) -> None:
        self._wires.pop(ref, None)
        self.feed(events.SocketClosed(ref, code))

    def _close_wire(self, ref: int, code: int) -> None:
        wire = self._wires.pop(ref, None)
        if wire is not None:
            wire.close(code)

    async def _sign(self, ref: int, signing_input: str) -> None:
        signature = await self._ports.keys.sign(signing_input.encode("ascii"))
        self.feed(events.ProofSigned(ref, signature))

    async def _sign_call(self, ref: int, signing_input: str) -> None:
        signature = await self._ports.keys.sign(signing_input.encode("ascii"))
        self.feed(events.CallSigned(ref, signature))

    async def _open_microphone(self, asked: effects.OpenMicrophone) -> None:
        ref = asked.ref
        listener = SoundListener(
            changed=lambda state: self.feed(events.SoundChanged(ref, state)),
            found=lambda candidate: self.feed(events.CandidateFound(ref, candidate)),
            listed=lambda devices: self.feed(events.DevicesFound(ref, devices)),
        )
        try:
            await self._ports.sound.open_microphone(listener, asked.microphone, asked.speaker)
        except MicrophoneRefused as refused:
            self.feed(events.MicrophoneFailed(ref, refused.fault, str(refused)))
        else:
            self.feed(events.MicrophoneOpened(ref))

    async def _use_device(self, ref: int, kind: DeviceKind, device_id: str) -> None:
        try:
            await self._ports.sound.use(kind, device_id)
        except MicrophoneRefused as refused:
            self.feed(events.DeviceRefused(ref, refused.fault, str(refused)))

    async def _answer_offer(self, ref: int, sdp: str, configuration: Mapping[str, object]) -> None:
        answer = await self._ports.sound.answer(sdp, configuration)
        if answer is not None:
            self.feed(events.CallAnswered(ref, answer))

    async def _inspect_sound(self, ref: int) -> None:
        """Find out why the sound is not connected. The call must also end if the browser fails or does not answer."""
        blocked = False
        try:
            async with asyncio.timeout(INSPECT_SECONDS):
                blocked = await self._ports.sound.is_blocked()
        except TimeoutError:
            return
        finally:
            self.feed(events.SoundInspected(ref, blocked))

    def _send(self, ref: int, frame: Mapping[str, object]) -> None:
        wire = self._wires.get(ref)
        if wire is not None:
            wire.send(json.dumps(frame))

    # popup, timers, tasks

    def _open_popup(self, ref: int, url: str, name: str) -> None:
        listener = PopupListener(
            reached=lambda: self.feed(events.PopupReached(ref)),
            closed=lambda blank: self.feed(events.PopupClosed(ref, blank)),
        )
        if self._ports.store.is_signed_out():
            url += f"&{CHOOSE_ACCOUNT}"
        opened = self._ports.popups.open(url, name, listener)
        if opened != "window":
            self.feed(events.PopupBlocked(ref, in_page=opened == "page"))

    def _set_timer(self, name: Timer, seconds: float) -> None:
        self._cancel_timer(name)
        loop = asyncio.get_running_loop()
        self._timers[name] = loop.call_later(min(max(0.0, seconds), LONGEST_TIMER), self._timer_fired, name)

    def _cancel_timer(self, name: Timer) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _timer_fired(self, name: Timer) -> None:
        del self._timers[name]
        self.feed(events.TimerFired(name))

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[None]) -> None:
        """Report a bug of the widget to the page, and print it with its traceback in the console."""
        self._tasks.discard(task)
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            error = WidgetError(Fault.WIDGET_FAILED, f"{type(fault).__name__} in the widget: {fault}")
            self.machine.note(error)
            self._ports.host.emit("error", error.detail())
            raise fault

    def _tear_down(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._ports.sound.close()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._ports.screen.remove()
        self._ports.release()


def _data(answer: Answer) -> Mapping[str, object] | None:
    """Return `data` from a successful response, or None (contract 1)."""
    data = answer.body.get("data") if isinstance(answer.body, Mapping) else None
    return data if 200 <= answer.status < 300 and isinstance(data, Mapping) else None


def _refusal(answer: Answer) -> tuple[str | None, str]:
    """Return the code and message from an error response (D-02)."""
    error = answer.body.get("error") if isinstance(answer.body, Mapping) else None
    if not isinstance(error, Mapping):
        hint = " A portal or proxy may have answered instead of the service." if 200 <= answer.status < 300 else ""
        return None, f"The service answered {answer.status} without the expected JSON.{hint}"
    code, message = error.get("code"), error.get("message")
    return code if isinstance(code, str) else None, message if isinstance(message, str) else ""


def _frame(text: str | None) -> Mapping[str, object] | None:
    try:
        frame = read_json(text or "")
    except ValueError:
        return None
    return frame if isinstance(frame, dict) else None
