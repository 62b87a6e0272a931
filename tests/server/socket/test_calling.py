"""Tests of calls with sound: signals reach only the two sides of a call, and the sound is bound to the caller's key."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import REGISTRY
from tests.server.meeting import met
from tests.server.panel.conftest import PASSWORD, Agents

from chatkey_protocol.codes import Code
from chatkey_server.chat.calls import KEEP_SECONDS, REJOIN_SECONDS, RING_SECONDS
from chatkey_server.chat.events import AGENT_SESSIONS
from chatkey_server.storage.passwords import hash_password
from chatkey_server.storage.tables import Agent, Call, Provider

Fixture = Any

CALLER, AGENT, OTHER = (":".join([pair] * 32) for pair in ("A1", "B2", "C3"))
NONCE = "the-agents-nonce-1"


def sdp(fingerprint: str) -> str:
    return f"v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=fingerprint:sha-256 {fingerprint}\r\n"


async def next_of(socket: Fixture, *kinds: str) -> Any:
    """Return the next frame of one of these kinds."""
    while (frame := await socket.next())["type"] not in kinds:
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


async def test_the_agents_page_joins_its_call_again_and_is_asked_again(phone: Phone, clock: Fixture) -> None:
    """A page that was reloaded has no connection to the caller any more, so it must make a new offer."""
    await phone.begin()
    await phone.caller.ask(phone.signal("ask"))
    await phone.agent.leave()

    phone.agent = await phone.agents.page_with(phone.shop, phone.cookie)
    await phone.agent.send({"type": "call", "id": "accept", "conversation": phone.conversation, "action": "join"})
    joined, asked = sorted(
        [await next_of(phone.agent, "signal", "accepted") for _ in "12"], key=lambda told: told["type"]
    )
    clock.advance(REJOIN_SECONDS)
    offer = await phone.offer()

    assert (joined["type"], asked["action"], asked["id"]) == ("accepted", "ask", "s1")
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


@pytest.mark.parametrize("side", ["caller", "agent"])
async def test_the_reason_of_one_side_reaches_the_other_side_the_database_and_the_metric(
    phone: Phone, side: str
) -> None:
    await phone.begin()
    series = ("chatkey_calls_ended_total", {"reason": "call_unconnected"})
    before = REGISTRY.get_sample_value(*series) or 0
    end = {"type": "call", "id": "c2", "action": "end", "code": "call_unconnected"}

    if side == "caller":
        await phone.caller.send(end)
    else:
        await phone.agent.send(end | {"conversation": phone.conversation})
    told = await next_of(phone.agent if side == "caller" else phone.caller, "call")
    while told["state"] == "active":
        told = await next_of(phone.agent if side == "caller" else phone.caller, "call")

    assert (told["state"], told["code"], await last()) == ("ended", end["code"], ("ended", end["code"]))
    assert REGISTRY.get_sample_value(*series) == before + 1


async def test_nothing_is_kept_of_a_call_that_has_ended(phone: Phone) -> None:
    before = {*phone.shop.services.hub._listeners}
    await phone.begin()

    await phone.caller.ask({"type": "call", "id": "c2", "action": "end"})
    await phone.agent.leave()
    await phone.caller.leave()

    assert {*phone.shop.services.hub._listeners} == before
    assert not phone.shop.services.keeper._held
