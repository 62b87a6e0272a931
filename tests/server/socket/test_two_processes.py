"""Tests of two processes of one deployment, with one database and one Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from tests.server.meeting import met

from chatkey_server.chat.events import PROVIDERS
from chatkey_server.chat.redis_link import RedisLink
from chatkey_server.identity import tokens
from chatkey_server.identity.tokens import Profile, Secrets
from chatkey_server.storage import admin
from chatkey_stack.patience import PATIENCE

Fixture = Any

NOW = 1_800_000_030.0
KEYS = ("m" * 32,)


@pytest.fixture
async def two(make_client: Fixture, redis_url: str) -> AsyncIterator[tuple[Fixture, Fixture]]:
    """Start two processes with the provider `prov`."""
    async with make_client(redis_url=redis_url, master_key=KEYS) as one:
        await admin.add_provider(one.services.vault, now=NOW, id="prov", secret_key="s" * 32)
        async with make_client(redis_url=redis_url, master_key=KEYS) as other:
            yield one, other


def token(browser: Fixture, secret: str) -> str:
    made = Secrets(secret.encode())
    return tokens.mint_custom(made, pid="prov", uid="ann", jkt=browser.jkt, profile=Profile(), now=NOW)


async def connected(open_socket: Fixture, browser: Fixture, client: Fixture, secret: str) -> Any:
    """Open a socket with a token that is signed with this secret. Returns the socket and its first response."""
    socket = await open_socket(client, "/v1/socket", subprotocols=["wf.v1"])
    hello, made = await socket.next(), token(browser, secret)
    proof = browser.proof(made, hello["nonce"], uri=client.services.settings.socket_uri)
    return socket, await socket.ask({"type": "connect", "token": made, "proof": proof})


@pytest.mark.contract("D-05/rotation-at-once")
async def test_a_rotated_secret_is_valid_in_the_other_process_at_once(
    two: Fixture, open_socket: Fixture, browser: Fixture, clock: Fixture
) -> None:
    """The clock stands still, so the cached provider never becomes old enough to be read again."""
    one, other = two
    _, before = await connected(open_socket, browser, other, "s" * 32)
    known = asyncio.Event()
    other.services.hub.add(PROVIDERS, lambda _: known.set())

    new = await admin.rotate_secret(one.services.vault, "prov", overlap_seconds=3600, now=NOW)
    one.services.provider_changed("prov")
    await asyncio.wait_for(known.wait(), PATIENCE)

    answers = [(await connected(open_socket, browser, other, secret))[1]["type"] for secret in (new, "s" * 32)]
    assert [before["type"], *answers] == ["ready"] * 3


@pytest.mark.contract("D-15/deaf")
async def test_messages_before_the_redis_subscription_of_a_socket_are_delivered(
    make_client: Fixture, redis_url: str, open_socket: Fixture, browser: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, attend = asyncio.Event(), RedisLink._attend

    async def later(self: RedisLink, hearing: PubSub) -> None:
        await gate.wait()
        await attend(self, hearing)

    monkeypatch.setattr(RedisLink, "_attend", later)
    settings = {"redis_url": redis_url, "master_key": KEYS}
    async with make_client(**settings) as one, make_client(**settings) as other:
        await admin.add_provider(one.services.vault, now=NOW, id="prov", secret_key="s" * 32)
        writes, _ = await connected(open_socket, browser, one, "s" * 32)
        reads, _ = await connected(open_socket, browser, other, "s" * 32)

        ack = await writes.ask({"type": "message", "id": "m1", "body": "unheard"})
        gate.set()
        told = await reads.next()

        assert (ack["type"], told["type"], told["seq"]) == ("ack", "message", ack["seq"])


@pytest.mark.contract("D-15/replay")
async def test_a_call_that_is_replayed_from_redis_does_not_ring_again(
    two: Fixture, open_socket: Fixture, browser: Fixture, redis_url: str
) -> None:
    """The test replays everything that both servers published: ringing, messages, heartbeats. The chat must go on."""
    await met(*(server.services.hub._link for server in two))
    calls, hears = [(await connected(open_socket, browser, server, "s" * 32))[0] for server in two]
    async with Redis.from_url(redis_url) as attacker, attacker.pubsub() as listening:
        await listening.psubscribe("*")
        await calls.ask({"type": "message", "id": "m1", "body": "before"})
        await calls.ask({"type": "call", "id": "c1", "action": "start"})
        before = [await hears.next() for _ in range(2)]
        await attacker.publish("mark", b"")
        recorded = [one async for one in published(listening, until=b"mark")]

        for channel, sealed in recorded:
            await attacker.publish(channel, sealed)
        await calls.ask({"type": "message", "id": "m2", "body": "after"})
        after = await hears.next()

    assert [told["type"] for told in before] == ["message", "call"]
    assert before[1]["state"] == "ringing"
    assert (after["type"], after.get("body")) == ("message", "after")
    assert len(recorded) >= 2
    assert not any(word in sealed for _, sealed in recorded for word in (b"before", b"ringing", b"ann"))


async def published(listening: PubSub, *, until: bytes) -> AsyncIterator[tuple[bytes, bytes]]:
    """Yield the channel and the sealed payload of each message. Stops at the message `until`."""
    while True:
        message = await listening.get_message(timeout=PATIENCE)
        if message and message["type"] == "pmessage":
            if message["channel"] == until:
                return
            yield message["channel"], message["data"]


@pytest.mark.contract("D-05/rotation-at-once")
async def test_a_rotated_secret_is_valid_in_the_other_process_without_an_announcement(
    two: Fixture, open_socket: Fixture, browser: Fixture, clock: Fixture
) -> None:
    one, other = two
    socket, _ = await connected(open_socket, browser, other, "s" * 32)
    new = await admin.rotate_secret(one.services.vault, "prov", overlap_seconds=3600, now=NOW)
    clock.advance(2)

    refreshed = await socket.ask({"type": "refresh", "token": token(browser, new)})
    _, answer = await connected(open_socket, browser, other, new)

    assert [refreshed["type"], answer["type"]] == ["refreshed", "ready"]
