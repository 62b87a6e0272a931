"""Tests of the load on a restarted server. All widgets reconnect, each after a delay that the widget chose."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from random import Random
from typing import Any, Final, TypeVar

import pytest
from websockets.exceptions import ConnectionClosed

from chatkey_widget import effects, events
from chatkey_widget.backoff import CROWD_BASE
from chatkey_widget.context import Settings
from chatkey_widget.keys import PublicKey
from chatkey_widget.machine import Machine

pytestmark = pytest.mark.long

Fixture = Any
E = TypeVar("E", bound=effects.Effect)

WIDGETS: Final = 200
NOW: Final = 1_800_000_000.0


async def close_of(socket: Fixture) -> int:
    """Read a socket until it closes, and return the close code. Returns 1006 if there was no close code."""
    try:
        while True:
            await socket.next()
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else 1006


class Chance:
    """A reproducible source of random values. The same seed gives the same values in every run."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def token(self) -> str:
        return self._random.randbytes(16).hex()

    def fraction(self) -> float:
        return self._random.random()


def second_of_return(seed: int, close: int, person: Fixture, token: str) -> int:
    """Report a closed socket to a widget, and return the number of whole seconds until the widget reconnects."""
    address = f"http://localhost:{person.shop.server.port}"
    machine = Machine(Settings(address, address, "http://localhost", person.shop.id), Chance(seed))
    done: list[effects.Effect] = []

    def feed(event: events.Event) -> None:
        done.extend(machine.handle(event, NOW))

    feed(events.Started(secure=True))
    feed(events.KeyReady(PublicKey(person.key.jwk["x"], person.key.jwk["y"])))
    feed(events.TokenLoaded(one(done, effects.LoadVisitorToken).ref, token, person.shop.server.uri))
    feed(events.SocketClosed(one(done, effects.OpenSocket).ref, close))
    waits = [effect for effect in done if isinstance(effect, effects.SetTimer) and effect.name == "reconnect"]
    return int(waits[-1].seconds)


def one(done: Sequence[effects.Effect], kind: type[E]) -> E:
    """Return the only effect of type `kind`."""
    (effect,) = (effect for effect in done if isinstance(effect, kind))
    return effect


async def come_back(person: Fixture) -> None:
    async with person.socket():
        pass


@pytest.mark.contract("D-16/restart-1012", "D-10/reconnect")
async def test_two_hundred_widgets_reconnect_at_scattered_times_after_a_restart(make_server: Fixture) -> None:
    """F143: in each of ten seconds, about a tenth of the widgets must reconnect. The server must accept all widgets."""
    with make_server() as server:
        shop = server.open_shop()
        server.start()
        people = [shop.person() for _ in range(WIDGETS)]
        async with AsyncExitStack() as opened:
            sockets = await asyncio.gather(*(opened.enter_async_context(person.socket()) for person in people))
            ended = await asyncio.to_thread(server.end)
            closes = await asyncio.gather(*(close_of(socket) for socket in sockets))
        server.start()

        tokens = await asyncio.gather(*(person.token() for person in people))
        seconds = list(map(second_of_return, range(WIDGETS), closes, people, tokens))
        for second in range(int(CROWD_BASE)):
            due = [person for person, at in zip(people, seconds, strict=True) if at == second]
            await asyncio.gather(*(come_back(person) for person in due))

        assert (ended, set(closes)) == (0, {1012})
        assert max(map(seconds.count, seconds)) <= 20 + 5 * 18**0.5  # probability 1/10 each: mean plus 5 sigma
        assert max(seconds) < CROWD_BASE
        assert len(server.heard("socket.ready")) == 2 * WIDGETS
