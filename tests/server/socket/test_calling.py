"""Tests of calls with sound: signals reach only the two sides of a call, and the sound is bound to the caller's key."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.meeting import met
from tests.server.panel.conftest import PASSWORD, Agents

from chatkey_protocol.codes import Code
from chatkey_protocol.names import PROOF_TYP
from chatkey_server.chat.calls import KEEP_SECONDS, REJOIN_SECONDS, RING_SECONDS
from chatkey_server.chat.events import AGENT_SESSIONS
from chatkey_server.storage.passwords import hash_password
from chatkey_server.storage.tables import Agent, Call, Provider

Fixture = Any

CALLER, AGENT, OTHER = (":".join([pair] * 32) for pair in ("A1", "B2", "C3"))
NONCE = "the-agents-nonce-1"


def sdp(fingerprint: str) -> str:
    return f"v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=fingerprint:sha-256 {fingerprint}\r\n"


async def next_of(socket: Fixture, kind: str) -> Any:
    """Return the next frame of this kind."""
    while (frame := await socket.next())["type"] != kind:
        pass
    return frame


class Phone:
    """One call between a widget's socket `caller` and `agent`, an agent's page in the process `desk`."""

    def __init__(
        self, shop: Fixture, join: Fixture, browser: Fixture, agents: Agents, desk: Fixture | None = None
    ) -> None:
        self.shop, self.join, self.browser, self.agents = shop, join, browser, agents
        self.desk = desk or shop
        self.call_id = self.conversation = self.cookie = ""
        self.caller: Fixture = None
        self.agent: Fixture = None

    async def ring(self) -> None:
        self.cookie = self.cookie or await self.agents.sign_in(self.desk)
        self.agent = self.agent or await self.agents.page_with(self.desk, self.cookie)
        self.caller = await self.join(self.browser.custom_token(), client=self.shop)
        self.call_id = (await self.caller.ask({"type": "call", "id": "start", "action": "start"}))["call_id"]
        self.conversation = (await next_of(self.agent, "call"))["conversation"]

    async def accept(self, page: Fixture = None, *, id_: str = "accept", action: str = "accept") -> Any:
        page = page or self.agent
        await page.send({"type": "call", "id": id_, "conversation": self.conversation, "action": action})
        while (frame := await page.next())["type"] not in {"accepted", "error"}:
            pass
        return frame

    async def begin(self) -> None:
        await self.ring()
        await self.accept()
        assert (await next_of(self.caller, "call"))["state"] == "active"

    async def offer(self, *, nonce: str = NONCE, fingerprint: str = AGENT) -> Any:
        frame = {"type": "signal", "call_id": self.call_id, "action": "offer"}
        await self.agent.send({**frame, "sdp": sdp(fingerprint), "nonce": nonce})
        return await next_of(self.caller, "signal")

    def proof(self, **changed: Any) -> str:
        claims = {"call_id": self.call_id, "nonce": NONCE, "fingerprint": CALLER, "peer_fingerprint": AGENT}
        proof: str = changed.pop("key", self.browser).prove_call(**{**claims, **changed})
        return proof

    async def answer(self, proof: str, *, fingerprint: str = CALLER, **changed: Any) -> Any:
        await self.caller.send(self.signal("answer", sdp=sdp(fingerprint), proof=proof) | changed)
        while (frame := await self.caller.next()).get("id") != "s1":
            pass
        return frame

    def signal(self, action: str, **members: Any) -> dict[str, Any]:
        return {"type": "signal", "id": "s1", "call_id": self.call_id, "action": action, **members}


@pytest.fixture
async def phone(shop: Fixture, join: Fixture, browser: Fixture, open_socket: Fixture) -> Phone:
    for name in ("eve", "bob"):
        await Agent.insert(Agent(username=name, password_hash=hash_password(PASSWORD), all_providers=True))
    return Phone(shop, join, browser, Agents(open_socket))


async def last() -> tuple[str, str | None]:
    """Return the state of the call in the database, and the reason of its end."""
    [row] = await Call.select(Call.state, Call.code)
    return row["state"], row["code"]


@pytest.mark.contract("D-22/bound")
async def test_an_offer_is_answered_with_a_verified_fingerprint(phone: Phone, browser: Fixture) -> None:
    await phone.begin()

    confirmed = await phone.caller.ask(phone.signal("ask"))
    asked = await next_of(phone.agent, "signal")
    offer = await phone.offer()
    verified = await phone.answer(phone.proof())
    answer = await next_of(phone.agent, "signal")

    assert confirmed == {"type": "signal", "id": "s1", "call_id": phone.call_id, "event": "passed"}
    assert asked == {"type": "signal", "call_id": phone.call_id, "action": "ask", "id": "s1"}
    assert offer == {
        "type": "signal",
        "call_id": phone.call_id,
        "event": "offer",
        "sdp": sdp(AGENT),
        "nonce": NONCE,
        "fingerprint": AGENT,
        "ice_servers": [],
    }
    assert verified["event"] == "passed"
    assert answer == {
        "type": "signal",
        "call_id": phone.call_id,
        "action": "answer",
        "sdp": sdp(CALLER),
        "nonce": NONCE,
        "fingerprint": CALLER,
        "jkt": browser.jkt,
    }


async def test_signals_go_from_one_process_to_another(
    make_client: Fixture, redis_url: str, join: Fixture, browser: Fixture, open_socket: Fixture
) -> None:
    async with make_client(redis_url=redis_url) as one, make_client(redis_url=redis_url) as other:
        await Agent.insert(Agent(username="eve", password_hash=hash_password(PASSWORD), all_providers=True))
        phone = Phone(one, join, browser, Agents(open_socket), other)
        await met(*(client.services.hub._link for client in (one, other)))
        await phone.begin()
        await phone.caller.send(phone.signal("ask"))
        assert (await next_of(phone.caller, "signal"))["event"] == "passed"

        asked = await next_of(phone.agent, "signal")
        offer = await phone.offer()
        await phone.answer(phone.proof())

        answer = await next_of(phone.agent, "signal")
        while answer["action"] == "ask":  # which is sent again when the process has subscribed
            answer = await next_of(phone.agent, "signal")
        assert (asked["action"], offer["fingerprint"]) == ("ask", AGENT)
        assert (answer["action"], answer["jkt"]) == ("answer", browser.jkt)


async def test_candidates_go_both_ways(phone: Phone) -> None:
    await phone.begin()

    await phone.caller.ask(phone.signal("candidate", candidate="candidate:1 from the caller"))
    there = await next_of(phone.agent, "signal")
    await phone.agent.send({**phone.signal("candidate", candidate="candidate:2 from the agent")})
    here = await next_of(phone.caller, "signal")

    assert there["candidate"] == "candidate:1 from the caller"
    assert here == {
        "type": "signal",
        "call_id": phone.call_id,
        "event": "candidate",
        "candidate": "candidate:2 from the agent",
    }


@pytest.mark.contract("D-22/bound")
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"peer_fingerprint": OTHER}, Code.PROOF_FINGERPRINT),
        ({"fingerprint": OTHER}, Code.PROOF_FINGERPRINT),
        ({"call_id": "5f0c2d1e-0000-4000-8000-000000000009"}, Code.PROOF_CALL),
        ({"nonce": "an-earlier-nonce-0"}, Code.PROOF_NONCE),
        ({"typ": PROOF_TYP}, Code.PROOF_TYP),
        ({"key": "another"}, Code.PROOF_KEY_MISMATCH),
    ],
    ids=["offer swapped", "answer swapped", "another call", "replayed offer", "another proof", "foreign key"],
)
async def test_a_proof_that_does_not_fit_ends_the_call_before_the_agents_page_has_it(
    phone: Phone, other_browser: Fixture, changed: dict[str, Any], code: Code
) -> None:
    await phone.begin()
    await phone.offer()
    if changed.get("key"):
        changed = {"key": other_browser}

    refused = await phone.answer(phone.proof(**changed))

    assert (refused["type"], refused["code"]) == ("error", code)
    told = await next_of(phone.agent, "call")
    while told["state"] == "active":
        told = await phone.agent.next()  # the next frame, so that no signal is skipped
    assert (told["type"], told["state"], told["code"]) == ("call", "ended", code)
    assert await last() == ("ended", code)


@pytest.mark.contract("D-22/bound")
async def test_a_description_with_a_swapped_fingerprint_ends_the_call(phone: Phone) -> None:
    await phone.begin()
    await phone.offer()

    refused = await phone.answer(phone.proof(), fingerprint=OTHER)

    assert refused["code"] == Code.PROOF_FINGERPRINT
    assert await last() == ("ended", Code.PROOF_FINGERPRINT)


@pytest.mark.contract("D-22/bound")
async def test_an_answer_cannot_be_replayed(phone: Phone) -> None:
    await phone.begin()
    await phone.offer()
    proof = phone.proof()

    assert (await phone.answer(proof))["type"] == "signal"
    assert (await phone.answer(proof))["code"] == Code.PROOF_NONCE
    assert await last() == ("ended", Code.PROOF_NONCE)


async def test_a_newer_offer_replaces_the_older_one(phone: Phone) -> None:
    await phone.begin()
    await phone.offer()
    await phone.offer(nonce="the-agents-nonce-2")

    assert (await phone.answer(phone.proof()))["code"] == Code.PROOF_NONCE


@pytest.mark.contract("D-22/relay")
async def test_only_the_calling_socket_can_send_signals_and_receives_them(phone: Phone) -> None:
    await phone.begin()
    tab = await phone.join(phone.browser.custom_token())

    again = await tab.ask({"type": "call", "id": "c2", "action": "start"})
    refused = await tab.ask(phone.signal("ask"))
    joined = await tab.ask({"type": "call", "id": "c3", "action": "join", "started": "c2"})
    await phone.offer()

    assert (again["state"], again["call_id"]) == ("active", phone.call_id)
    assert refused["code"] == Code.CALL_UNKNOWN
    assert joined["code"] == Code.CALL_TAKEN
    assert (await tab.ask({"type": "ping"}))["type"] == "pong"  # and no offer before it
    assert await last() == ("active", None)


@pytest.mark.contract("D-22/relay")
async def test_only_the_page_that_has_accepted_can_send_signals(phone: Phone) -> None:
    await phone.begin()
    bob = await phone.agents.page(phone.shop, "bob")

    refused = await phone.accept(bob, id_="another")
    await bob.send({"type": "signal", "call_id": phone.call_id, "action": "offer", "sdp": sdp(OTHER), "nonce": NONCE})

    assert refused["code"] == Code.CALL_TAKEN
    assert (await next_of(bob, "error"))["code"] == Code.CALL_UNKNOWN
    assert (await phone.offer())["fingerprint"] == AGENT


async def test_a_page_in_a_call_accepts_no_other(phone: Phone, other_browser: Fixture) -> None:
    await phone.begin()
    other = await phone.join(other_browser.custom_token("zoe"), browser=other_browser)
    await other.ask({"type": "call", "id": "c1", "action": "start"})
    first, phone.conversation = phone.conversation, ""
    while not phone.conversation:
        told = await next_of(phone.agent, "call")
        phone.conversation = told["conversation"] if told["conversation"] != first else ""

    assert (await phone.accept(id_="second"))["code"] == Code.CALL_BUSY


@pytest.mark.contract("D-22/ends")
async def test_the_same_tab_joins_its_call_again_on_a_new_socket(phone: Phone) -> None:
    await phone.begin()
    await phone.caller.leave()

    phone.caller = await phone.join(phone.browser.custom_token())
    joined = await phone.caller.ask({"type": "call", "id": "c2", "action": "join", "started": "start"})
    offer = await phone.offer()
    answered = await phone.answer(phone.proof())

    assert (joined["state"], joined["call_id"], joined["id"]) == ("active", phone.call_id, "c2")
    assert (offer["event"], answered["event"]) == ("offer", "passed")


async def test_another_key_of_the_same_member_cannot_join(phone: Phone, other_browser: Fixture) -> None:
    await phone.begin()

    tab = await phone.join(other_browser.custom_token(), browser=other_browser)
    joined = await tab.ask({"type": "call", "id": "c2", "action": "join", "started": "start"})

    assert joined["code"] == Code.CALL_TAKEN


async def test_the_agents_page_joins_its_call_again_on_a_new_socket(phone: Phone, clock: Fixture) -> None:
    await phone.begin()
    await phone.agent.leave()

    phone.agent = await phone.agents.page_with(phone.shop, phone.cookie)
    joined = await phone.accept(action="join")
    clock.advance(REJOIN_SECONDS)
    offer = await phone.offer()

    assert joined["type"] == "accepted"
    assert offer["event"] == "offer"
    assert await last() == ("active", None)


async def test_the_call_ends_if_the_agents_page_does_not_come_back(phone: Phone, clock: Fixture) -> None:
    await phone.begin()
    await phone.agent.leave()

    clock.advance(REJOIN_SECONDS)

    ended = await next_of(phone.caller, "call")
    assert (ended["state"], ended["code"]) == ("ended", Code.CALL_LOST)


@pytest.mark.contract("D-22/ends")
async def test_the_call_ends_at_once_when_the_agent_is_signed_out(phone: Phone) -> None:
    await phone.begin()

    await phone.agents.sign_out(phone.shop, phone.cookie)
    phone.shop.services.hub.publish(AGENT_SESSIONS, b"")

    assert (await next_of(phone.caller, "call"))["state"] == "ended"


async def test_the_call_ends_at_once_when_the_business_is_switched_off(phone: Phone) -> None:
    await phone.begin()

    await Provider.update({Provider.enabled: False}).where(Provider.id == "prov")
    phone.shop.services.provider_changed("prov")

    ended = await next_of(phone.caller, "call")
    assert (ended["state"], ended["code"]) == ("ended", Code.PROVIDER_OFF)


@pytest.mark.contract("D-22/ends")
async def test_the_call_ends_at_once_when_the_callers_token_ends(phone: Phone, clock: Fixture) -> None:
    await phone.begin()

    clock.advance(3600)

    told = await next_of(phone.agent, "call")
    while told["state"] == "active":
        told = await next_of(phone.agent, "call")
    assert (told["state"], told["code"]) == ("ended", Code.TOKEN_EXPIRED)


@pytest.mark.contract("D-22/ends")
@pytest.mark.parametrize(
    ("is_gone", "seconds", "code"),
    [(False, RING_SECONDS, Code.CALL_UNANSWERED), (True, REJOIN_SECONDS + KEEP_SECONDS, Code.CALL_LOST)],
    ids=["nobody answers", "the caller's process died"],
)
async def test_a_call_that_nobody_ends_is_ended(
    phone: Phone, clock: Fixture, *, is_gone: bool, seconds: int, code: Code
) -> None:
    await phone.ring()
    if is_gone:
        phone.shop.services.keeper.release(phone.call_id)

    clock.advance(seconds - 1, alarms=False)
    await phone.shop.services.keeper.keep_once()
    before = await last()
    clock.advance(1, alarms=False)
    await phone.shop.services.keeper.keep_once()

    assert before == ("ringing", None)
    assert await last() == ("ended", code)
    assert (await next_of(phone.caller, "call"))["code"] == code


async def test_nothing_is_kept_of_a_call_that_has_ended(phone: Phone) -> None:
    before = {*phone.shop.services.hub._listeners}
    await phone.begin()

    await phone.caller.ask({"type": "call", "id": "c2", "action": "end"})
    await phone.agent.leave()
    await phone.caller.leave()

    assert {*phone.shop.services.hub._listeners} == before
    assert not phone.shop.services.keeper._held
