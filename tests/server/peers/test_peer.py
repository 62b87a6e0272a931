"""Tests of an accepted socket of a widget or a panel page: the frames to the peer, and the end of the socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec
import pytest
import structlog
from structlog.testing import capture_logs

from chatkey_protocol.codes import Close, Code
from chatkey_server.identity.errors import Refused
from chatkey_server.peers import peer as peers
from chatkey_server.peers.open_sockets import Sockets
from chatkey_server.peers.outbox import MAX_BACKLOG
from chatkey_server.peers.peer import Peer
from chatkey_server.peers.wire import Wire
from chatkey_server.settings import Limits


class Other:
    """The peer of a socket. It reads when a test allows it, and sends what the test has queued."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.reads = asyncio.Event()
        self.reads.set()
        self.sent: list[Any] = []
        self.closed_with: list[tuple[int, str]] = []
        self.closed = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        return await self.said.get()

    async def send(self, event: dict[str, Any]) -> None:
        if event["type"] == "websocket.close":
            self.closed_with.append((event["code"], event["reason"]))
            self.closed.set()
            return
        await self.reads.wait()
        self.sent.append(msgspec.json.decode(event["text"]))


class Page(Peer):
    """A server-side socket whose behaviour comes from a test."""

    KIND = "page"
    FAILED = "page.failed"
    REFUSED = "page.refused"
    AGAIN = "reload the page"

    def __init__(self, wire: Other, sockets: Sockets, serve: Callable[[Page], Awaitable[None]]) -> None:
        by_asgi = Wire(cast("Any", {}), cast("Any", wire.receive), cast("Any", wire.send))
        super().__init__(by_asgi, sockets, structlog.get_logger())
        self._serve = serve

    async def serve(self) -> None:
        await self._serve(self)


@pytest.fixture
def wire() -> Other:
    return Other()


@pytest.fixture
def sockets() -> Sockets:
    return Sockets(Limits())


MakePage = Callable[[Callable[[Page], Awaitable[None]]], Page]


@pytest.fixture
def make_page(wire: Other, sockets: Sockets) -> MakePage:
    return lambda serve: Page(wire, sockets, serve)


async def test_a_peer_is_counted_while_it_is_served(make_page: MakePage, sockets: Sockets) -> None:
    counted: list[int] = []

    async def serve(_: Page) -> None:
        counted.append(len(sockets))

    await make_page(serve).run()

    assert (counted, len(sockets)) == ([1], 0)


async def test_a_refusal_is_sent_and_closes_the_socket(make_page: MakePage, wire: Other) -> None:
    async def serve(_: Page) -> None:
        raise Refused(Code.FRAME_INVALID, "No.", member="id")

    with capture_logs() as events:
        await make_page(serve).run()

    assert wire.sent == [{"type": "error", "code": "frame_invalid", "message": "No.", "retryable": False}]
    assert wire.closed_with == [(Close.BAD_FRAME, "frame_invalid")]
    assert [(event["event"], event["code"], event["member"]) for event in events] == [
        ("page.refused", "frame_invalid", "id")
    ]


async def test_an_internal_error_is_logged_and_sent_with_what_to_do(make_page: MakePage, wire: Other) -> None:
    async def serve(_: Page) -> None:
        raise ZeroDivisionError

    with capture_logs() as events:
        await make_page(serve).run()

    assert wire.sent[0]["code"] == "internal"
    assert wire.sent[0]["message"] == "The server had an internal error; reload the page."
    assert events[0]["event"] == "page.failed"


async def test_a_peer_that_left_gets_nothing(make_page: MakePage, wire: Other) -> None:
    async def serve(_: Page) -> None:
        raise OSError("the connection was reset")

    with capture_logs() as events:
        await make_page(serve).run()

    assert (wire.sent, wire.closed_with, events) == ([], [], [])


async def test_after_a_refusal_a_peer_neither_reads_nor_sends(make_page: MakePage, wire: Other) -> None:
    page = make_page(lambda _: asyncio.sleep(0))
    wire.said.put_nowait({"type": "websocket.receive", "text": "{}"})
    await page.refuse(Refused(Code.UNAVAILABLE, "Not now."))

    text = await page.text()
    await page.send({"type": "ready"})
    page.tell(b"{}")
    page.end(Refused(Code.INTERNAL, "Again."))
    await asyncio.sleep(0)

    assert text is None
    assert [frame["code"] for frame in wire.sent] == ["unavailable"]
    assert len(wire.closed_with) == 1


@pytest.mark.parametrize("is_closed", [True, False])
async def test_a_closed_peer_can_be_cancelled(make_page: MakePage, is_closed: bool) -> None:
    """If a server stops while the database does not respond, the server cancels its sockets in this way."""
    began = asyncio.Event()

    async def serve(page: Page) -> None:
        began.set()
        await asyncio.Event().wait()

    page = make_page(serve)
    running = asyncio.create_task(page.run())
    await began.wait()
    if is_closed:
        await page.refuse(Refused(Code.RESTARTING, "The server stops."))
    running.cancel()
    await asyncio.wait([running])

    assert running.cancelled() is not is_closed


async def test_a_peer_that_reads_too_slowly_gets_an_error_with_what_to_do(
    make_page: MakePage, wire: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatkey_server.peers.outbox.SLOW_SECONDS", -1)  # as if a second had passed
    page = make_page(lambda _: asyncio.sleep(0))
    wire.reads.clear()

    for number in range(MAX_BACKLOG + 2):
        page.tell(b"%d" % number)
    wire.reads.set()
    await asyncio.wait_for(wire.closed.wait(), 5)

    assert wire.sent[-1]["message"] == "This connection reads its messages too slowly; reload the page."
    assert wire.closed_with == [(Close.TRY_LATER, "unavailable")]


async def test_closing_a_peer_that_does_not_read_takes_limited_time(
    make_page: MakePage, wire: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "PATIENCE_SECONDS", 0.01)
    wire.reads.clear()

    await asyncio.wait_for(make_page(lambda _: asyncio.sleep(0)).refuse(Refused(Code.UNAVAILABLE, "Not now.")), 5)

    assert wire.sent == []
