"""Tests of the sound of a call: the widget's side of the negotiation, its proof, and when the sound must stop."""

import pytest
from tests.widget.caller import AGENT, CALL_ID, NONCE, OTHER, OWN, Caller, sdp
from tests.widget.driver import KEY, Driver, claims_of

from chatkey_protocol.frames import Kind
from chatkey_protocol.names import CALL_PROOF_TYP
from chatkey_widget import call_proof, effects, events
from chatkey_widget.errors import Fault
from chatkey_widget.sound import CONNECT_SECONDS, LOST_SECONDS
from chatkey_widget.view import Device


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


def test_a_sound_that_connects_while_the_browser_says_why_it_did_not_goes_on(caller: Caller) -> None:
    caller.connect()
    caller.driver.feed(events.SoundChanged(caller.ref, "interrupted"))
    caller.driver.advance(LOST_SECONDS)
    asked = len(caller.driver.all(effects.InspectSound))

    caller.driver.feed(
        events.SoundChanged(caller.ref, "connected"),
        events.SoundInspected(caller.ref, blocked=False),
    )

    assert (asked, caller.driver.errors(), caller.is_silent()) == (1, [], False)


@pytest.mark.contract("D-22/bound")
def test_an_offer_during_a_call_must_be_verified_before_its_sound_goes_on(caller: Caller) -> None:
    caller.connect()
    sent = len(caller.driver.all(effects.SendSound))

    caller.offer(fingerprint=OTHER, vouched=OTHER, nonce="another-nonce")
    caller.driver.feed(events.MuteAsked(muted=False), events.SoundChanged(caller.ref, "connected"))
    before = (len(caller.driver.all(effects.SendSound)), caller.driver.errors())
    caller.driver.advance(CONNECT_SECONDS)
    asked = len(caller.driver.all(effects.InspectSound))
    caller.driver.feed(events.SoundInspected(caller.ref, blocked=False))

    assert before == (sent, [])
    assert (asked, caller.driver.errors(), caller.is_silent()) == (1, [Fault.CALL_UNCONNECTED], True)


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


def test_a_muted_microphone_stays_muted_when_an_answer_is_verified(caller: Caller) -> None:
    caller.connect()
    caller.driver.feed(events.MuteAsked(muted=True))
    caller.offer(nonce="another-nonce")
    answer = caller.answer()

    caller.driver.frame(type="signal", call_id=CALL_ID, event="passed", id=answer["id"])

    sent = [effect.on for effect in caller.driver.all(effects.SendSound)]
    assert (sent[-1], caller.driver.view.sound.muted) == (False, True)


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


@pytest.mark.parametrize(("members", "policy"), [({}, "all"), ({"relay_only": True}, "relay")])
def test_the_service_decides_whether_the_sound_only_goes_through_turn_servers(
    caller: Caller, members: dict[str, bool], policy: str
) -> None:
    """Otherwise both sides learn each other's addresses."""
    caller.begin()

    caller.offer(more=members)

    assert caller.driver.last(effects.AnswerOffer).configuration["iceTransportPolicy"] == policy


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


@pytest.mark.parametrize("seconds", [1, LOST_SECONDS - 1])
def test_a_browser_that_reports_a_second_failure_gets_no_more_time(caller: Caller, seconds: float) -> None:
    """F244: The browser reports `disconnected`, and `failed` some seconds later."""
    caller.connect()
    caller.driver.feed(events.SoundChanged(caller.ref, "interrupted"))
    caller.driver.advance(seconds)

    caller.driver.feed(events.SoundChanged(caller.ref, "interrupted"))
    caller.driver.advance(LOST_SECONDS - seconds)

    assert len(caller.driver.all(effects.InspectSound)) == 1


def test_a_sound_that_needs_a_click_is_played_by_a_click(caller: Caller) -> None:
    """F245: The browser may refuse to play sound without a click."""
    caller.connect()
    caller.driver.feed(events.SoundChanged(caller.ref, "silent"))
    before = caller.driver.view.sound

    caller.driver.feed(events.PlayAsked())

    assert (before.silent, caller.driver.view.sound.silent) == (True, False)
    assert len(caller.driver.all(effects.PlaySound)) == 2  # the first one when the answer was verified
