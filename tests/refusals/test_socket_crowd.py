"""Tests of two thousand peers that connect and send nothing. Other peers must still be able to connect at once."""

from __future__ import annotations

import asyncio
import re
import resource
import statistics
import time
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, cast

import pytest

from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import MakeService, Service
    from tests.refusals.kit.shop import Shop

pytestmark = pytest.mark.long

CROWD: Final = 2_000
USUAL_FILES: Final = 1024
ADDRESSES: Final = [f"127.0.0.{last}" for last in range(11, 19)]
EACH: Final = CROWD // len(ADDRESSES)
AT_ONCE: Final = 50
TRIES: Final = 9
SOON: Final = 0.2
UPGRADE: Final = (
    b"GET /v1/socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
NONCE: Final = re.compile(rb'"nonce":"([\w-]+)"')


@pytest.fixture(scope="module")
def busy(make_service: MakeService) -> Iterator[Service]:
    """A server with the usual limit on open files.

    Each client address may open an equal share of the crowd's connections.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (USUAL_FILES, hard))  # the server inherits this limit, and raises it
    try:
        with make_service(LIMIT_SOCKETS_PER_ADDRESS=str(EACH), LIMIT_AUTH_TIMEOUT="60") as made:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2 * CROWD + 500)), hard))
            yield made
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Silent(asyncio.Protocol):
    def __init__(self, first: bytes) -> None:
        self._first = first
        self.heard = b""
        loop = asyncio.get_running_loop()
        self.greeted: asyncio.Future[None] = loop.create_future()
        self.gone: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(self._first)
        if not self._first:
            self.greeted.set_result(None)

    def data_received(self, data: bytes) -> None:
        self.heard += data
        if not self.greeted.done() and b'"ping"' in self.heard:
            self.greeted.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set_result(None)
        if not self.greeted.done():
            self.greeted.set_exception(exc or ConnectionResetError())


@asynccontextmanager
async def crowd(service: Service, first: bytes) -> AsyncIterator[list[Silent]]:
    """Open the crowd's connections, a few at a time, from several addresses."""
    loop = asyncio.get_running_loop()
    waiting = iter(ADDRESSES * EACH)
    opened: list[Silent] = []

    async def some() -> None:
        for address in waiting:
            _, peer = await loop.create_connection(
                lambda: Silent(first), "127.0.0.1", service.port, local_addr=(address, 0)
            )
            opened.append(peer)
            await peer.greeted

    try:
        await asyncio.gather(*(some() for _ in range(AT_ONCE)))
        yield opened
    finally:
        for peer in opened:
            peer.transport.abort()


def opening(service: Service, shop: Shop, token: str) -> float:
    """Return the number of seconds that an honest peer needs to reach `ready`."""
    begun = time.perf_counter()
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted
        return time.perf_counter() - begun


async def openings(service: Service, shop: Shop) -> list[float]:
    token = shop.token()
    return [await asyncio.to_thread(opening, service, shop, token) for _ in range(TRIES)]


@pytest.mark.contract("D-10/patience")
@pytest.mark.parametrize("first", [pytest.param(UPGRADE, id="WSK-021-crowd"), pytest.param(b"", id="WSK-022-crowd")])
async def test_many_silent_connections_do_not_delay_others(busy: Service, first: bytes) -> None:
    shop = busy.shop()

    async with crowd(busy, first) as silent:
        seconds = await openings(busy, shop)
        still_there = sum(not peer.gone.done() for peer in silent)

    assert (len(silent), still_there) == (CROWD, CROWD)
    assert statistics.median(seconds) < SOON, seconds


async def test_others_connect_while_many_silent_connections_are_closed(busy: Service) -> None:
    shop = busy.shop()
    token = shop.token()

    async with crowd(busy, UPGRADE) as silent:
        await asyncio.to_thread(busy.advance, 60)  # by now all of them have missed their deadline
        await asyncio.to_thread(opening, busy, shop, token)
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(peer.gone for peer in silent))
    busy.reset()

    assert {b"auth_timeout" in peer.heard for peer in silent} == {True}


@pytest.mark.row("WSK-045")
async def test_an_address_with_the_maximum_of_sockets_gets_no_more(busy: Service) -> None:
    async with crowd(busy, UPGRADE):
        with busy.socket(local_addr=(ADDRESSES[0], 0)) as one_more, busy.socket() as elsewhere:
            one_more.end().refused("too_many_sockets", 4429)
            assert elsewhere.hello["type"] == "hello"


@pytest.mark.row("PRF-086")
async def test_nonces_are_unique_and_unpredictable(busy: Service) -> None:
    async with crowd(busy, UPGRADE) as silent:
        found = [NONCE.search(peer.heard) for peer in silent]
    nonces = [nonce[1].decode() for nonce in found if nonce]
    raw = [urlsafe_b64decode(nonce) for nonce in nonces]

    assert len(set(nonces)) == CROWD
    assert {len(nonce) for nonce in raw} == {24}
    for bit in range(24 * 8):  # each bit is random in both halves, so no bit belongs to a counter
        for half in (raw[: CROWD // 2], raw[CROWD // 2 :]):
            ones = sum(nonce[bit // 8] >> (bit % 8) & 1 for nonce in half)
            assert abs(ones - CROWD / 4) < 6.5 * (CROWD / 8) ** 0.5
