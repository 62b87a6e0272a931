"""The audio of calls: which sides signals reach, how the audio is bound to the caller's key, and how calls end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from chatkey_conform.case import Case, Family
from chatkey_conform.judging.verdict import OtherLimit, expect, expect_that
from chatkey_conform.making.call_verdicts import ACCEPTED, REFUSED, Honest, Verdict
from chatkey_conform.subject.phone import AGENT, ANSWERED, CALLER, STARTED, Phone, accepted, description, ringing
from chatkey_conform.subject.subject import Subject
from chatkey_conform.suite.chat import stays, until_pong
from chatkey_conform.suite.rates import MOST_ASKED
from chatkey_peer.key import REMOVED, BrowserKey, merged

PAGE: Final = "socket.md#the-audio-of-a-call"
FAMILY = Family("calls", "The audio of calls", PAGE)
SINCE: Final = 3
NEEDS: Final = ("agent", "calls")
BOUND, RELAY, ENDS = "D-22/bound", "D-22/relay", "D-22/ends"
NOTICE_SECONDS: Final = 1
CALL_ID: Final = "5f0c2d1e-0000-4000-8000-000000000009"

judges = partial(FAMILY.judges, since=SINCE, needs=NEEDS)


@FAMILY.judges(RELAY, since=SINCE, needs=["calls"])
def ready_names_the_revision(subject: Subject) -> None:
    """Widgets send signals only to a service whose `ready` names revision 3 or a later one."""
    shop = subject.shop()
    with subject.socket() as peer:
        revision = peer.join(shop.token(), shop.key).get("revision")

    expect_that(isinstance(revision, int) and revision >= SINCE, f"`revision` of ready is {revision!r}")


# signals


@judges(RELAY)
def signals_go_both_ways_between_the_two_sides(subject: Subject) -> None:
    """The agent's page receives the caller's signals, and the caller receives the signals of the agent's page."""
    with accepted(subject) as phone:
        confirmed = [
            phone.peer.granted(phone.signal("ask"), "signal"),
            phone.peer.granted(phone.signal("candidate", candidate="candidate:1"), "signal"),
        ]
        phone.heard("candidate")
        there = [(signal.get("action"), signal.get("candidate")) for signal in phone.signals()]
        offer = phone.offer()
        phone.agent("candidate", candidate="candidate:2")
        here = phone.told("signal")

    wanted = [("passed", "s-1", phone.call_id)] * 2
    expect([(one.get("event"), one.get("id"), one["call_id"]) for one in confirmed], wanted, "The confirmations")
    expect(there, [("ask", None), ("candidate", "candidate:1")], "The signals that the agent's page receives")
    wanted_offer = _offer(phone)
    expect({name: offer.get(name) for name in wanted_offer}, wanted_offer, "The offer that the caller receives")
    expect_that(isinstance(offer.get("ice_servers"), list), "`ice_servers` of the offer is not an array")
    expect((here.get("event"), here.get("candidate")), ("candidate", "candidate:2"), "The candidate of the agent")


def _offer(phone: Phone) -> dict[str, Any]:
    known = {"type": "signal", "call_id": phone.call_id, "event": "offer"}
    return {**known, "sdp": description(AGENT), "nonce": phone.nonce, "fingerprint": AGENT}


@judges(RELAY)
def only_the_calling_tab_exchanges_signals(subject: Subject) -> None:
    """Another tab of the caller can neither send nor receive signals of the call, and cannot join the call."""
    shop = subject.shop()
    with accepted(subject, shop) as phone, subject.joined(shop) as tab:
        same = tab.granted({"type": "call", "id": "c-2", "action": "start"}, "call")
        stays(tab, phone.signal("ask"), "call_unknown")
        for started in ({"started": "c-2"}, {}):
            stays(tab, {"type": "call", "action": "join", **started}, "call_taken")
        phone.offer()
        heard = until_pong(tab)
        phone.connects()

    expect(
        (same["call_id"], same["state"]), (phone.call_id, "active"), "call_id and state of the call in the other tab"
    )
    expect(
        [frame["type"] for frame in heard if frame["type"] == "signal"], [], "The signals that the other tab receives"
    )


@judges(RELAY)
def a_signal_of_another_person_is_refused(subject: Subject) -> None:
    """Nobody else can send a signal into a call, even during a call of their own."""
    with accepted(subject) as phone, ringing(subject) as other:
        stays(other.peer, phone.signal("candidate", candidate="candidate:3"), "call_unknown")
        expect(phone.signals(), [], "The signals that the agent's page receives")


@judges(RELAY)
def after_its_end_a_call_has_no_signals(subject: Subject) -> None:
    """After a call has ended, signals are refused on both sides."""
    with accepted(subject) as phone:
        phone.peer.granted({"type": "call", "id": "c-2", "action": "end"}, "call")
        stays(phone.peer, phone.signal("ask"), "call_unknown")
        late = phone.agent("offer", sdp=description(AGENT), nonce="the-nonce-of-a-late-offer")

    expect(late.get("refused"), "call_unknown", "The refusal of the agent's offer after the call")


VALID: Final = {"type": "signal", "id": "s-1", "call_id": CALL_ID, "action": "ask"}


@FAMILY.judges(
    "D-10/frame-schema",
    since=SINCE,
    needs=["calls"],
    each={
        "no-id": {"id": REMOVED},
        "no-call": {"call_id": REMOVED},
        "call-with-capitals": {"call_id": CALL_ID.upper()},
        "short-call": {"call_id": CALL_ID[:-1]},
        "no-action": {"action": REMOVED},
        "offer": {"action": "offer"},
        "empty-sdp": {"sdp": ""},
        "long-sdp": {"sdp": "x" * 8001},
        "sdp-object": {"sdp": {"type": "answer"}},
        "empty-proof": {"proof": ""},
        "long-proof": {"proof": "x" * 4097},
        "long-candidate": {"candidate": "x" * 1001},
        "candidate-null": {"candidate": None},
    },
)
def a_signal_that_does_not_match_its_schema_ends_the_connection(subject: Subject, change: dict[str, Any]) -> None:
    """A `signal` with a missing, wrong or too long member ends the connection with `frame_invalid`."""
    frame = merged(VALID, change)
    subject.within(len(str(frame)), "frame_bytes")
    with subject.joined(subject.shop()) as peer:
        peer.say(frame)
        peer.end().refused("frame_invalid", 4400)


@FAMILY.judges(
    "D-10/frame-schema",
    since=SINCE,
    needs=["calls"],
    each={
        "sdp": {"sdp": "x" * 8000},
        "proof": {"proof": "x" * 4096},
        "candidate": {"candidate": "x" * 1000},
        "end-of-candidates": {"action": "candidate", "candidate": ""},
        "unknown-member": {"x": {"y": None}},
    },
)
def a_signal_may_be_as_long_as_its_schema_says(subject: Subject, change: dict[str, Any]) -> None:
    """A `signal` whose members are as long as allowed is read, and refused only because there is no call."""
    frame = VALID | change
    subject.within(len(str(frame)), "frame_bytes")
    with subject.joined(subject.shop()) as peer:
        stays(peer, frame, "call_unknown")


@FAMILY.judges("D-10/rate", alone=True, since=SINCE, needs=["calls", "rate-limits"], page="socket.md#refusals")
def too_many_signals_within_a_second_end_the_connection(subject: Subject) -> None:
    """Signals count as frames: above the rate, they end the connection with 4429."""
    rate = subject.limits.frames_per_second
    if not 0 < rate <= MOST_ASKED:
        raise OtherLimit(f"not tested with frames_per_second = {rate}")
    with subject.joined(subject.shop()) as peer:
        for _ in range(20 * rate):
            peer.say(VALID, hurried=True)
        ended = peer.end()

    expect(ended.close, 4429, "The close code after too many signals")


# the proof


def _refuse(row: Verdict, subject: Subject) -> None:
    with accepted(subject) as phone:
        phone.offer()
        phone.is_refused(phone.answer(row.make(phone.offered())), row.code)


def _accept(row: Honest, subject: Subject) -> None:
    with accepted(subject) as phone:
        phone.offer()
        came = phone.answer(row.make(phone.offered()))
        expect((came["type"], came.get("event")), ("signal", "passed"), "type and event of the answer to a valid proof")
        heard = phone.heard("answer")

    wanted = (description(CALLER), phone.nonce, CALLER, phone.shop.key.jkt)
    came_there = tuple(heard.get(name) for name in ("sdp", "nonce", "fingerprint", "jkt"))
    expect(came_there, wanted, "sdp, nonce, fingerprint and jkt of the answer that the agent's page receives")


ROWS: Final[tuple[Verdict | Honest, ...]] = (*REFUSED, *ACCEPTED)

for _row in ROWS:
    FAMILY.add(
        Case(
            id=f"calls/proof-{_row.id}",
            title=f"refused as {_row.code}, and the call ends" if isinstance(_row, Verdict) else "accepted",
            sentences=(BOUND,),
            page=PAGE,
            group=FAMILY.title,
            run=partial(_refuse, _row) if isinstance(_row, Verdict) else partial(_accept, _row),
            needs=frozenset(NEEDS),
            since=SINCE,
        )
    )


@judges(
    BOUND,
    each={
        "no-fingerprint": (description(), "proof_fingerprint"),
        "two-fingerprints": (description(CALLER, AGENT), "proof_fingerprint"),
        "another-fingerprint": (description(AGENT), "proof_fingerprint"),
        "sha-1": (description(CALLER).replace("sha-256", "sha-1"), "proof_fingerprint"),
        "sha-1-too": (description(CALLER) + "a=fingerprint:sha-1 00:01:02\r\n", "proof_fingerprint"),
        "short": (description(CALLER[:-3]), "proof_fingerprint"),
        "video": (description(CALLER) + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n", "parameter_invalid"),
        "two-audios": (description(CALLER) + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n", "parameter_invalid"),
        "only-video": (description(CALLER, media="m=video 9 UDP/TLS/RTP/SAVPF 96\r\n"), "parameter_invalid"),
        "no-media": (description(CALLER, media=""), "parameter_invalid"),
    },
)
def a_description_of_another_form_ends_the_call(subject: Subject, sdp: str, code: str) -> None:
    """A description without exactly one audio line and one SHA-256 fingerprint ends the call, despite a valid proof."""
    with accepted(subject) as phone:
        phone.offer()
        phone.is_refused(phone.answer(phone.offered().prove(), sdp=sdp), code)


@judges(BOUND, each={"lower-case": (description(CALLER.lower()),), "twice": (description(CALLER, CALLER),)})
def a_fingerprint_may_be_in_lower_case_or_repeated(subject: Subject, sdp: str) -> None:
    """A description may have its fingerprint in lower case, or several times. The proof has it in upper case."""
    with accepted(subject) as phone:
        phone.offer()
        came = phone.answer(phone.offered().prove(), sdp=sdp)

    expect((came["type"], came.get("event")), ("signal", "passed"), "type and event of the answer to a valid proof")


@judges(BOUND)
def the_fingerprint_of_an_offer_is_in_upper_case(subject: Subject) -> None:
    """The service reads the fingerprint of an offer from the description, and writes it in upper case."""
    with accepted(subject) as phone:
        offer = phone.offer(sdp=description(AGENT.lower()))

    expect(offer.get("fingerprint"), AGENT, "fingerprint of the offer that the caller receives")


@judges(BOUND)
def an_answer_without_a_proof_ends_the_call(subject: Subject) -> None:
    """An answer without a proof is refused, and the call ends."""
    with accepted(subject) as phone:
        phone.offer()
        came = phone.peer.ask({**phone.signal("answer", sdp=description(CALLER)), "id": ANSWERED})
        phone.is_refused(came, "proof_malformed")


@judges(BOUND)
def an_answer_without_an_offer_ends_the_call(subject: Subject) -> None:
    """If there was no offer, there is no nonce to answer, and the call ends."""
    with accepted(subject) as phone:
        phone.nonce = "a-nonce-of-no-offer"
        phone.is_refused(phone.answer(phone.offered().prove()), "proof_nonce")


@judges(BOUND)
def an_answer_is_accepted_once(subject: Subject) -> None:
    """A second answer to the same offer is refused with `proof_nonce`, and the call ends."""
    with accepted(subject) as phone:
        phone.offer()
        proof = phone.offered().prove()
        first, second = phone.answer(proof), phone.answer(proof)
        again = phone.peer.ask(phone.signal("ask"))

    expect(first.get("event"), "passed", "event of the answer to the first proof")
    expect(second.get("code"), "proof_nonce", "code of the answer to the repeated proof")
    expect(again.get("code"), "call_unknown", "code of a signal after the repeated proof")


@judges(BOUND)
def only_the_newest_offer_can_be_answered(subject: Subject) -> None:
    """After a newer offer, an answer to the older one is refused with `proof_nonce`, and the call ends."""
    with accepted(subject) as phone:
        phone.offer()
        old = phone.offered().prove()
        phone.offer()
        phone.is_refused(phone.answer(old), "proof_nonce")


@judges(BOUND)
def every_new_offer_can_be_answered(subject: Subject) -> None:
    """After an answer, the agent's page may send another offer, for example because the caller's page has reloaded."""
    with accepted(subject) as phone:
        phone.connects()
        phone.offer()
        came = phone.answer(phone.offered().prove())

    expect(came.get("event"), "passed", "event of the answer to the second offer")


@judges(BOUND)
def a_proof_of_an_earlier_call_is_refused(subject: Subject) -> None:
    """The proof of an earlier call of the same person does not fit the next call, even with the same nonce."""
    shop, nonce = subject.shop(), "the-same-nonce-in-both-calls"
    with accepted(subject, shop) as phone:
        phone.offer(nonce=nonce)
        old = phone.offered().prove()
        phone.peer.granted({"type": "call", "id": "c-2", "action": "end"}, "call")
    with accepted(subject, shop) as phone:
        phone.offer(nonce=nonce)
        phone.is_refused(phone.answer(old), "proof_call")


@judges(BOUND, "D-10/proof")
def a_proof_for_a_call_opens_no_socket(subject: Subject) -> None:
    """A proof with the `typ` of a call's proof opens no socket, even if it has all claims of a socket's proof."""
    shop = subject.shop()
    token = shop.token()
    with subject.socket() as peer:
        proof = peer.prove(shop.key, token, header={"typ": "wf-call-proof+jwt"}, call_id=CALL_ID)
        peer.connect(token, proof).refused("proof_typ", 4403)


@judges(BOUND)
def the_refusal_of_a_proof_is_told_to_every_tab(subject: Subject) -> None:
    """If a proof is refused, the caller's other tabs are told that the call has ended, with the same code."""
    shop = subject.shop()
    with accepted(subject, shop) as phone, subject.joined(shop) as tab:
        phone.offer()
        phone.answer(phone.offered().prove(key=phone.other_key))
        phone.ends("proof_key_mismatch", tab)


# accepting


@judges(ENDS)
def of_two_agents_at_once_one_has_the_call(subject: Subject) -> None:
    """If two agents accept a call at the same time, one is refused with `call_taken`, and only the other can offer."""
    with ringing(subject) as phone:
        pages = (phone.page, f"{phone.page}-2")
        with ThreadPoolExecutor(len(pages)) as pool:
            answers = [*pool.map(lambda page: phone.agent("accept", page=page), pages)]
        refusals = [answer.get("refused") for answer in answers]
        expect(sorted(map(str, refusals)), ["None", "call_taken"], "The refusals of the two agents")
        loser, phone.page = pages[refusals.index("call_taken")], pages[refusals.index(None)]
        late = phone.agent("offer", page=loser, sdp=description(AGENT), nonce="the-nonce-of-the-loser")
        phone.connects()

    expect(late.get("refused"), "call_unknown", "The refusal of an offer by the agent who does not have the call")


@judges(ENDS)
def an_agent_has_one_call_at_a_time(subject: Subject) -> None:
    """An agent's page in a call is refused with `call_busy`, the other call rings on, and can be accepted later."""
    with accepted(subject) as phone, ringing(subject) as other:
        other.page = phone.page
        busy = other.agent("accept").get("refused")
        same = other.peer.granted({"type": "call", "id": "c-2", "action": "start"}, "call")
        phone.connects()
        phone.peer.granted({"type": "call", "id": "c-2", "action": "end"}, "call")
        other.accept()

    expect(busy, "call_busy", "The refusal of an agent who is in another call")
    expect((same["call_id"], same["state"]), (other.call_id, "ringing"), "call_id and state of the other call")


@judges(ENDS)
def a_call_cannot_be_accepted_after_the_caller_has_left(subject: Subject) -> None:
    """If the caller's last socket closes while the call rings, no agent can accept the call."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        phone = Phone(subject, shop, peer)
    _until_noticed()
    expect(phone.agent("accept").get("refused"), "call_unknown", "The refusal of an agent after the caller has left")


def _until_noticed() -> None:
    """Give the service time to notice that a socket was closed."""
    threading.Event().wait(NOTICE_SECONDS)


# ends


@judges(ENDS)
def an_agent_ends_a_call_without_a_code(subject: Subject) -> None:
    """If the agent hangs up, the caller is told that the call has ended, without a code."""
    with accepted(subject) as phone:
        phone.agent("end")
        phone.ends(None)


@FAMILY.judges(ENDS, since=SINCE, needs=["calls", "clock"], alone=True)
def a_call_that_nobody_answers_ends_after_a_minute(subject: Subject) -> None:
    """A call rings for 60 seconds, and then ends with `call_unanswered`."""
    with ringing(subject) as phone:
        subject.advance(50)
        same = phone.peer.granted({"type": "call", "id": "c-2", "action": "start"}, "call")
        expect((same["call_id"], same["state"]), (phone.call_id, "ringing"), "call_id and state after 50 seconds")
        subject.advance(16)
        phone.ends("call_unanswered")


@judges(ENDS)
def the_same_tab_joins_its_call_again(subject: Subject) -> None:
    """After its socket was lost, the tab joins its active call with the same key, and negotiates the audio again."""
    shop = subject.shop()
    with accepted(subject, shop) as phone:
        phone.peer.connection.close()
        with subject.joined(shop) as again:
            joined = again.granted({"type": "call", "id": "c-2", "action": "join", "started": STARTED}, "call")
            expect((joined["call_id"], joined["state"]), (phone.call_id, "active"), "call_id and state after `join`")
            phone.peer = again
            phone.connects()


@judges(ENDS)
def another_key_of_the_member_cannot_join(subject: Subject) -> None:
    """A browser with another key cannot join the call of the same member, even if it knows how the call was started."""
    shop = subject.shop()
    with accepted(subject, shop) as phone:
        mine, shop.key = shop.key, BrowserKey()
        with subject.joined(shop) as thief:
            stays(thief, {"type": "call", "action": "join", "started": STARTED}, "call_taken")
            stays(thief, phone.signal("ask"), "call_unknown")
        shop.key = mine
        phone.connects()


@judges(ENDS)
def a_ringing_call_cannot_be_joined(subject: Subject) -> None:
    """Only an active call can be joined again."""
    shop = subject.shop()
    with ringing(subject, shop), subject.joined(shop) as tab:
        stays(tab, {"type": "call", "action": "join", "started": STARTED}, "call_unknown")


@FAMILY.judges(ENDS, since=SINCE, needs=[*NEEDS, "clock"], alone=True)
def a_lost_call_can_be_joined_for_20_seconds(subject: Subject) -> None:
    """Without the calling socket, an active call continues for 20 seconds, and has ended after 25 with `call_lost`."""
    shop = subject.shop()
    with subject.joined(shop) as tab, accepted(subject, shop) as phone:
        phone.peer.connection.close()
        _until_noticed()
        subject.advance(15)
        with subject.joined(shop) as again:
            joined = again.granted({"type": "call", "id": "c-2", "action": "join", "started": STARTED}, "call")
        _until_noticed()
        until_pong(tab)
        subject.advance(31)
        phone.ends("call_lost", tab)
        with subject.joined(shop) as late:
            stays(late, {"type": "call", "action": "join", "started": STARTED}, "call_unknown")

    expect((joined["call_id"], joined["state"]), (phone.call_id, "active"), "call_id and state after 15 seconds")


@judges(ENDS)
def a_call_ends_at_once_when_the_identity_changes(subject: Subject) -> None:
    """If the service closes the calling socket with 4409, the call ends at once, and nobody can join it."""
    shop = subject.shop()
    with subject.joined(shop) as tab, accepted(subject, shop) as phone:
        phone.peer.say({"type": "refresh", "token": shop.token(uid="somebody-else")})
        closed = phone.peer.end()
        phone.ends("identity_changed", tab)
        stays(tab, {"type": "call", "action": "join", "started": STARTED}, "call_unknown")

    expect(closed.close, 4409, "The close code after a refresh for another person")


@FAMILY.judges(ENDS, since=SINCE, needs=[*NEEDS, "clock"], alone=True)
def a_call_ends_at_once_when_the_callers_token_ends(subject: Subject) -> None:
    """If the caller's token ends without renewal, the call ends at once."""
    shop = subject.shop()
    short = shop.token(exp=int(subject.now()) + 40)
    with subject.joined(shop) as tab, accepted(subject, shop, short) as phone:
        subject.advance(45)
        phone.ends("token_expired", tab)
