"""Tests of the sound of a call: the widget's side of the negotiation, its proof, and when the sound must stop."""

import asyncio

import pytest
from tests.widget.driver import KEY, Driver, claims_of
from tests.widget.world import World, run

from chatkey_protocol.frames import Kind
from chatkey_protocol.names import CALL_PROOF_TYP
from chatkey_protocol.storage_keys import CALL_LOCK_PREFIX
from chatkey_widget import call_proof, effects, events
from chatkey_widget.errors import Fault
from chatkey_widget.ports import MicrophoneRefused
from chatkey_widget.runtime import Runtime
from chatkey_widget.sound import CONNECT_SECONDS, LOST_SECONDS
from chatkey_widget.view import Device

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

    def offer(self, *, fingerprint: str = AGENT, vouched: str = AGENT) -> None:
        members = {"sdp": sdp(fingerprint), "nonce": NONCE, "fingerprint": vouched, "ice_servers": []}
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
        return isinstance([effect for effect in self.driver.done if isinstance(effect, kinds)][-1], effects.CloseSound)


@pytest.fixture
def caller(visitor: Driver) -> Caller:
    return Caller(visitor)


def test_an_answer_is_signed_over_both_fingerprints_and_the_agents_nonce(caller: Caller) -> None:
    caller.begin()
    asked = caller.sent(Kind.SIGNAL)
    caller.offer()
    answer = caller.answer()

    proof = str(answer["proof"])
    claims = claims_of(proof)
    assert (asked["action"], answer["action"], answer["sdp"]) == ("ask", "answer", sdp(OWN))
    assert {name: claims[name] for name in ("call_id", "nonce", "fingerprint", "peer_fingerprint")} == {
        "call_id": CALL_ID,
        "nonce": NONCE,
        "fingerprint": OWN,
        "peer_fingerprint": AGENT,
    }
    made = call_proof.build(KEY, call_id="", nonce="", fingerprint="", peer_fingerprint="", jti="", now=0)
    assert made.header["typ"] == CALL_PROOF_TYP
    assert proof.startswith(made.signing_input.partition(".")[0])


def test_the_microphone_is_silent_until_the_server_has_verified_the_answer(caller: Caller) -> None:
    caller.begin()
    caller.offer()
    answer = caller.answer()
    asked = caller.driver.frames(Kind.SIGNAL)[0]
    caller.driver.frame(type="signal", call_id=CALL_ID, event="passed", id=asked["id"])
    before = len(caller.driver.all(effects.SendSound))

    caller.driver.frame(type="signal", call_id=CALL_ID, event="passed", id=answer["id"])

    assert before == 0
    assert [effect.on for effect in caller.driver.all(effects.SendSound)] == [True]


@pytest.mark.contract("D-22/bound")
def test_nothing_is_heard_or_sent_while_a_relay_keeps_the_answer_back(caller: Caller) -> None:
    """F246: A relay that swaps the offer can connect its own sound, but the server never confirms the answer."""
    caller.begin()
    caller.offer(fingerprint=OTHER, vouched=OTHER)
    caller.answer()
    caller.driver.feed(events.SoundChanged(caller.ref, "connected"))

    caller.driver.feed(events.MuteAsked(muted=True), events.MuteAsked(muted=False), events.PlayAsked())
    shown = caller.driver.view.sound.state
    caller.driver.advance(CONNECT_SECONDS)
    asked = len(caller.driver.all(effects.InspectSound))
    caller.driver.feed(events.SoundInspected(caller.ref, blocked=False))

    assert shown == "connecting"
    assert [*caller.driver.all(effects.SendSound), *caller.driver.all(effects.PlaySound)] == []
    assert (asked, caller.driver.errors(), caller.is_silent()) == (1, [Fault.CALL_UNCONNECTED], True)


@pytest.mark.contract("D-22/bound")
def test_an_offer_during_a_call_must_be_verified_before_its_sound_goes_on(caller: Caller) -> None:
    caller.connect()
    sent = len(caller.driver.all(effects.SendSound))

    caller.offer(fingerprint=OTHER, vouched=OTHER)
    caller.driver.feed(events.MuteAsked(muted=False), events.SoundChanged(caller.ref, "connected"))
    before = (len(caller.driver.all(effects.SendSound)), caller.driver.errors())
    caller.driver.advance(CONNECT_SECONDS)
    asked = len(caller.driver.all(effects.InspectSound))
    caller.driver.feed(events.SoundInspected(caller.ref, blocked=False))

    assert before == (sent, [])
    assert (asked, caller.driver.errors(), caller.is_silent()) == (1, [Fault.CALL_UNCONNECTED], True)


def test_a_call_rings_when_the_microphone_is_open(caller: Caller) -> None:
    """The agent must not answer while the browser still asks the person for the microphone."""
    caller.driver.opens_microphone = False
    caller.driver.feed(events.CallAsked("start"))
    before = (caller.driver.frames(Kind.CALL), caller.driver.view.call, caller.driver.view.sound.state)

    caller.driver.feed(events.MicrophoneOpened(caller.ref))

    assert before == ([], "calling", "asking")
    assert (caller.sent(Kind.CALL)["action"], caller.driver.view.sound.state) == ("start", "none")


def test_a_call_that_is_ended_while_the_browser_asks_never_rings(caller: Caller) -> None:
    caller.driver.opens_microphone = False
    caller.driver.feed(events.CallAsked("start"), events.CallAsked("end"))

    caller.driver.feed(events.MicrophoneOpened(caller.ref))

    assert (caller.driver.frames(Kind.CALL), caller.driver.view.call) == ([], "none")
    assert caller.is_silent()


def test_a_call_does_not_ring_if_the_connection_is_lost_while_the_browser_asks(caller: Caller) -> None:
    caller.driver.opens_microphone = False
    caller.driver.feed(events.CallAsked("start"))
    caller.driver.close(1006)

    caller.driver.feed(events.MicrophoneOpened(caller.ref))

    assert (caller.driver.frames(Kind.CALL), caller.driver.view.call) == ([], "none")
    assert caller.is_silent()


def test_a_call_rings_on_the_next_connection_if_the_browser_still_asks(caller: Caller) -> None:
    caller.driver.opens_microphone = False
    caller.driver.feed(events.CallAsked("start"))
    caller.driver.close(1006)
    caller.driver.advance(60)

    caller.driver.feed(events.MicrophoneOpened(caller.ref))

    assert (caller.sent(Kind.CALL)["action"], caller.driver.view.call) == ("start", "calling")


def test_a_tab_without_the_call_does_not_end_it(caller: Caller) -> None:
    """If another tab is in a call, the server answers a new call with the state of that call."""
    caller.begin()
    asked = caller.sent(Kind.SIGNAL)

    refusal = {"code": "call_unknown", "message": "There is no call to take or to end.", "retryable": False}
    caller.driver.frame(type="error", id=asked["id"], **refusal)
    caller.driver.advance(60)

    assert caller.is_silent()
    assert ([frame["action"] for frame in caller.driver.frames(Kind.CALL)], caller.driver.errors()) == (["start"], [])


@pytest.mark.parametrize(
    ("fingerprint", "vouched"),
    [(OTHER, AGENT), (AGENT, OTHER), (f"{AGENT}\r\na=fingerprint:sha-256 {OTHER}", AGENT), ("00", AGENT)],
    ids=["swapped", "vouched swapped", "two", "short"],
)
def test_an_offer_with_another_fingerprint_than_the_server_says_ends_the_call(
    caller: Caller, fingerprint: str, vouched: str
) -> None:
    """F246: The widget must not answer such an offer."""
    caller.begin()

    caller.offer(fingerprint=fingerprint, vouched=vouched)

    assert caller.driver.errors() == [Fault.CALL_UNSAFE]
    assert len(caller.driver.all(effects.AnswerOffer)) == 0
    assert (caller.sent(Kind.CALL)["action"], caller.is_silent()) == ("end", True)


def test_a_refused_proof_closes_the_sound(caller: Caller) -> None:
    """F246: If the server refuses the proof, the person must read that the connection is not safe."""
    caller.begin()
    caller.offer()
    answer = caller.answer()

    refusal = {"code": "proof_fingerprint", "message": "It was changed on the way.", "retryable": False}
    caller.driver.frame(type="error", id=answer["id"], **refusal)

    assert caller.driver.errors() == ["proof_fingerprint"]
    assert caller.driver.view.notice == "The call has ended, because the connection is not safe here."
    assert caller.is_silent()


@pytest.mark.parametrize("code", ["call_unanswered", "call_lost", "proof_nonce"])
def test_a_call_that_nobody_ended_is_reported_with_its_code(caller: Caller, code: str) -> None:
    caller.begin()

    caller.driver.frame(type="call", call_id=CALL_ID, state="ended", code=code)

    assert (caller.driver.errors(), caller.is_silent()) == ([code], True)


@pytest.mark.parametrize(
    "fault",
    [
        Fault.MICROPHONE_DENIED,
        Fault.MICROPHONE_DISMISSED,
        Fault.MICROPHONE_MISSING,
        Fault.MICROPHONE_BUSY,
        Fault.MICROPHONE_UNAVAILABLE,
        Fault.CALL_UNSUPPORTED,
    ],
)
def test_without_a_microphone_the_call_does_not_ring_and_the_person_reads_why(caller: Caller, fault: Fault) -> None:
    """F241, F242, F243: Each reason must have a code of its own."""
    caller.driver.opens_microphone = False
    caller.driver.feed(events.CallAsked("start"))

    caller.driver.feed(events.MicrophoneFailed(caller.ref, fault, "why"))

    assert caller.driver.errors() == [fault]
    assert caller.driver.view.notice
    assert (caller.driver.frames(Kind.CALL), caller.driver.view.call) == ([], "none")


def test_a_microphone_that_is_taken_away_ends_the_call(caller: Caller) -> None:
    """F242: The microphone was unplugged during a call."""
    caller.connect()

    caller.driver.feed(events.SoundChanged(caller.ref, "microphone_lost"))

    assert (caller.driver.errors(), caller.is_silent()) == ([Fault.MICROPHONE_LOST], True)


@pytest.mark.parametrize("announced", [{}, {"revision": 2}])
def test_a_call_at_a_service_of_an_earlier_revision_goes_on_without_sound(
    caller: Caller, announced: dict[str, int]
) -> None:
    """Such a service would close the socket after a `signal`."""
    caller.driver.announced = announced
    caller.driver.close(1006)
    caller.driver.advance(60)

    caller.begin()

    assert caller.driver.frames(Kind.SIGNAL) == []
    assert (caller.driver.view.call, caller.is_silent()) == ("active", True)


def test_a_sound_that_does_not_connect_ends_the_call(caller: Caller) -> None:
    """F244: The sound must connect within 15 seconds."""
    caller.begin()

    caller.driver.advance(CONNECT_SECONDS - 1)
    before = len(caller.driver.all(effects.InspectSound))
    caller.driver.advance(1)
    caller.driver.feed(events.SoundInspected(caller.ref, blocked=False))

    assert (before, caller.driver.errors(), caller.is_silent()) == (0, [Fault.CALL_UNCONNECTED], True)


def test_a_sound_that_the_local_network_permission_blocks_has_a_code_of_its_own(caller: Caller) -> None:
    """F250: The person must read that they can allow the access."""
    caller.begin()

    caller.driver.advance(CONNECT_SECONDS)
    caller.driver.feed(events.SoundInspected(caller.ref, blocked=True))

    assert (caller.driver.errors(), caller.is_silent()) == ([Fault.CALL_LOCAL_NETWORK], True)
    assert "local network" in (caller.driver.view.notice or "")
    assert caller.sent(Kind.CALL)["action"] == "end"


def test_an_answer_about_an_earlier_call_does_not_end_this_one(caller: Caller) -> None:
    caller.begin()

    caller.driver.feed(events.SoundInspected(caller.ref - 1, blocked=True))

    assert (caller.driver.errors(), caller.is_silent()) == ([], False)


def test_a_short_interruption_does_not_end_the_call(caller: Caller) -> None:
    """F244: The sound may be away for almost 20 seconds."""
    caller.connect()

    caller.driver.feed(events.SoundChanged(caller.ref, "interrupted"))
    caller.driver.advance(LOST_SECONDS - 1)
    caller.driver.feed(events.SoundChanged(caller.ref, "connected"))
    caller.driver.advance(LOST_SECONDS)

    assert (caller.driver.errors(), caller.is_silent()) == ([], False)


@pytest.mark.parametrize("seconds", [1, LOST_SECONDS - 1])
def test_a_browser_that_reports_a_second_failure_gets_no_more_time(caller: Caller, seconds: float) -> None:
    """F244: The browser reports `disconnected`, and `failed` some seconds later."""
    caller.connect()
    caller.driver.feed(events.SoundChanged(caller.ref, "interrupted"))
    caller.driver.advance(seconds)

    caller.driver.feed(events.SoundChanged(caller.ref, "interrupted"))
    caller.driver.advance(LOST_SECONDS - seconds)

    assert len(caller.driver.all(effects.InspectSound)) == 1


def test_a_browser_that_reports_a_failure_early_gets_no_more_time_to_connect(caller: Caller) -> None:
    """F244: The sound must connect within 15 seconds."""
    caller.begin()
    caller.offer()
    caller.driver.advance(CONNECT_SECONDS - 1)

    caller.driver.feed(events.SoundChanged(caller.ref, "interrupted"))
    caller.driver.advance(1)

    assert len(caller.driver.all(effects.InspectSound)) == 1


def test_a_sound_that_needs_a_click_is_played_by_a_click(caller: Caller) -> None:
    """F245: The browser may refuse to play sound without a click."""
    caller.connect()
    caller.driver.feed(events.SoundChanged(caller.ref, "silent"))
    before = caller.driver.view.sound

    caller.driver.feed(events.PlayAsked())

    assert (before.silent, caller.driver.view.sound.silent) == (True, False)
    assert len(caller.driver.all(effects.PlaySound)) == 2  # the first one when the answer was verified


def test_a_muted_microphone_stays_muted_when_an_answer_is_verified(caller: Caller) -> None:
    caller.connect()
    caller.driver.feed(events.MuteAsked(muted=True))
    caller.offer()
    answer = caller.answer()

    caller.driver.frame(type="signal", call_id=CALL_ID, event="passed", id=answer["id"])

    sent = [effect.on for effect in caller.driver.all(effects.SendSound)]
    assert (sent[-1], caller.driver.view.sound.muted) == (False, True)


def test_a_call_of_another_tab_has_no_sound_here(caller: Caller) -> None:
    caller.driver.frame(type="call", call_id=CALL_ID, state="active")
    caller.offer()

    assert (len(caller.driver.all(effects.OpenMicrophone)), len(caller.driver.all(effects.AnswerOffer))) == (0, 0)
    assert caller.driver.view.sound.state == "none"


def test_a_lost_socket_joins_the_call_again_and_keeps_the_sound(caller: Caller) -> None:
    """F247: The sound goes from browser to browser, so it does not need the socket."""
    caller.connect()
    started = caller.driver.frames(Kind.CALL)[0]["id"]

    caller.driver.close(1006)
    caller.driver.advance(60)
    joined = caller.sent(Kind.CALL)
    asked = len(caller.driver.frames(Kind.SIGNAL))
    caller.driver.frame(type="call", call_id=CALL_ID, state="active", id=joined["id"])

    assert (joined["action"], joined["started"]) == ("join", started)
    assert (len(caller.driver.frames(Kind.SIGNAL)), caller.is_silent()) == (asked, False)


@pytest.mark.parametrize("code", [4401, 4403, 4409, 4419])
def test_the_sound_stops_when_the_server_refuses_the_identity(caller: Caller, code: int) -> None:
    """F248: Without a valid token there is no call."""
    caller.connect()

    caller.driver.close(code)

    assert caller.is_silent()


def test_the_sound_stops_when_the_widget_is_shut_down(caller: Caller) -> None:
    caller.connect()

    caller.driver.feed(events.ShutdownAsked())

    assert (caller.sent(Kind.CALL)["action"], caller.is_silent()) == ("end", True)


def test_the_sound_stops_when_the_member_logs_out(member: Driver) -> None:
    """F248: The sound of a member must not go on as the visitor's."""
    caller = Caller(member)
    caller.connect()

    member.feed(events.LogoutAsked())

    assert caller.is_silent()
    assert [frame["action"] for frame in member.frames(Kind.CALL)] == ["start", "end"]


def test_the_sound_stops_when_another_member_takes_over(member: Driver) -> None:
    """F248: The sound of a member must not go on as another member's."""
    caller = Caller(member)
    caller.connect()
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom(uid="u_2"))

    member.feed(events.RefreshAsked())

    assert caller.is_silent()
    assert member.frames(Kind.CALL)[-1]["action"] == "end"
    assert member.identity[1] == "u_2"


def test_the_person_can_choose_another_device_during_a_call(caller: Caller) -> None:
    caller.connect()
    devices = tuple(Device("microphone", name, name, used=name == "desk") for name in ("desk", "headset"))
    caller.driver.feed(events.DevicesFound(caller.ref, devices))

    caller.driver.feed(events.DeviceChosen("microphone", "headset"))

    assert caller.driver.view.sound.devices == devices
    chosen = caller.driver.last(effects.UseDevice)
    assert (chosen.ref, chosen.kind, chosen.id) == (caller.ref, "microphone", "headset")


def test_a_device_that_cannot_be_used_does_not_end_the_call(caller: Caller) -> None:
    caller.connect()

    caller.driver.feed(events.DeviceRefused(caller.ref, Fault.MICROPHONE_BUSY, "why"))

    assert (caller.driver.errors(), caller.is_silent()) == ([Fault.MICROPHONE_BUSY], False)


async def test_the_runtime_uses_the_chosen_device_and_reports_a_refusal() -> None:
    world = World()
    runtime = run(world)
    await world.until(lambda: "ready" in world.names())
    runtime.feed(events.CallAsked("start"))
    await world.until(lambda: any(frame["type"] == "call" for frame in world.sent))

    runtime.feed(events.DeviceChosen("speaker", "headset"))
    await world.until(lambda: "speaker headset" in world.call_sound.done)
    world.call_sound.refuse = MicrophoneRefused(Fault.MICROPHONE_BUSY, "Another program uses it.")
    runtime.feed(events.DeviceChosen("microphone", "desk"))
    await world.until(lambda: "error" in world.names())

    assert world.errors() == [Fault.MICROPHONE_BUSY]
    assert "close" not in world.call_sound.done[world.call_sound.done.index("microphone") :]
    runtime.feed(events.ShutdownAsked())


async def test_the_runtime_uses_the_microphone_of_the_browser() -> None:
    world = World()
    runtime = run(world)
    await world.until(lambda: "ready" in world.names())

    runtime.feed(events.CallAsked("start"))
    await world.call_sound.opened.wait()

    assert world.call_started
    runtime.feed(events.ShutdownAsked())
    assert world.call_sound.done[-1] == "close"


@pytest.mark.parametrize(("blocked", "code"), [(True, Fault.CALL_LOCAL_NETWORK), (False, Fault.CALL_UNCONNECTED)])
async def test_the_runtime_asks_the_browser_why_the_sound_is_not_connected(*, blocked: bool, code: Fault) -> None:
    """F244, F250: The browser's answer decides which code ends the call."""
    world = World()
    world.call_sound.blocked = blocked
    runtime = await accepted_call(world)

    runtime.feed(events.TimerFired("sound"))
    await world.until(lambda: "error" in world.names())

    assert world.errors() == [code]
    runtime.feed(events.ShutdownAsked())


async def test_a_call_ends_although_the_browser_does_not_say_why_it_is_not_connected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F244: `getStats` may never answer."""
    monkeypatch.setattr("chatkey_widget.runtime.INSPECT_SECONDS", 0.0)
    world = World()
    world.call_sound.blocked = None
    runtime = await accepted_call(world)

    runtime.feed(events.TimerFired("sound"))
    await world.until(lambda: "error" in world.names())

    assert world.errors() == [Fault.CALL_UNCONNECTED]
    assert world.call_sound.done[-1] == "close"
    runtime.feed(events.ShutdownAsked())


async def test_a_bug_in_the_inspection_of_the_sound_does_not_keep_the_call_connecting() -> None:
    """The call must end, and the page must get both errors."""
    world = World()
    world.call_sound.blocked = ValueError("a bug")
    runtime = await accepted_call(world)
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reported.append(context.get("exception")))

    runtime.feed(events.TimerFired("sound"))
    await world.until(lambda: Fault.WIDGET_FAILED in world.errors())

    assert world.errors() == [Fault.CALL_UNCONNECTED, Fault.WIDGET_FAILED]
    assert reported == [world.call_sound.blocked]
    runtime.feed(events.ShutdownAsked())


async def accepted_call(world: World) -> Runtime:
    """Start a call, and let the agent accept it."""
    runtime = run(world)
    await world.until(lambda: "ready" in world.names())
    runtime.feed(events.CallAsked("start"))
    await world.call_sound.opened.wait()
    world.receive({"type": "call", "call_id": CALL_ID, "state": "ringing", "id": world.call_started})
    world.receive({"type": "call", "call_id": CALL_ID, "state": "active"})
    return runtime


async def test_the_runtime_reports_a_refused_microphone() -> None:
    world = World()
    world.call_sound.refuse = MicrophoneRefused(Fault.MICROPHONE_MISSING, "There is none.")
    runtime = run(world)
    await world.until(lambda: "ready" in world.names())

    runtime.feed(events.CallAsked("start"))
    await world.until(lambda: "error" in world.names())

    assert world.call_started is None
    runtime.feed(events.ShutdownAsked())


async def test_a_reloaded_tab_joins_its_call_again() -> None:
    """F247: The page of the tab that has the call finds the call's id in sessionStorage."""
    world = World(call_started="frame-1")

    runtime = run(world)
    await world.until(lambda: any(frame["type"] == "call" for frame in world.sent))

    joined = next(frame for frame in world.sent if frame["type"] == "call")
    assert (joined["action"], joined["started"]) == ("join", "frame-1")
    runtime.feed(events.ShutdownAsked())


async def test_a_duplicate_of_the_calling_tab_leaves_the_call_alone() -> None:
    """F251: The browser copies sessionStorage into the duplicate, but the calling tab holds the lock of the call."""
    world = World(call_started="frame-1", held=[CALL_LOCK_PREFIX + "frame-1"])

    runtime = run(world)
    await world.until(lambda: "ready" in world.names())

    assert [frame for frame in world.sent if frame["type"] == "call"] == []
    assert world.call_started is None
    runtime.feed(events.ShutdownAsked())


async def test_a_tab_that_calls_holds_the_lock_of_the_call() -> None:
    world = World()
    runtime = run(world)
    await world.until(lambda: "ready" in world.names())

    runtime.feed(events.CallAsked("start"))
    await world.until(lambda: "microphone" in world.call_sound.done)

    assert f"{CALL_LOCK_PREFIX}{world.call_started}" in world.held
    runtime.feed(events.ShutdownAsked())
