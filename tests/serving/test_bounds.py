"""Tests of what a connection costs, whatever it sends: memory, time, and what stays behind when it has ended."""

from __future__ import annotations

import asyncio
import selectors
import tracemalloc
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import chain, pairwise
from typing import Any, Final

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from tests.serving.asking import REFUSALS, statuses
from tests.serving.http_rows import CHUNKED, GET, GROUPS, POST
from tests.serving.pipe import Line, Pipe, echo, settled
from tests.serving.socket_rows import FRAMES, HANDSHAKE, HANDSHAKES

from chatkey_serving.site import LOG, Limits, Site

LIMITS: Final = Limits(
    body_bytes=8 * 1024, request_timeout=1.0, frame_bytes=65_536, frame_timeout=1.0, pong_timeout=1.0
)
DEADLINE: Final = 20.0
"""Seconds after which every connection must have ended: a few times the longest of the server's limits."""
MOST_OF_A_ROW: Final = 4_000
CROWD: Final = 50
PACKET: Final = 64 * 1024
PER_BYTE: Final = 3
PER_CONNECTION: Final = 12 * 1024
"""How much memory an open connection may take, for its parser, timers and task, besides what it has sent."""


@pytest.fixture(scope="module", autouse=True)
def _nothing_else() -> Iterator[None]:
    """Keep the memory of log lines, and of a module that the first socket imports, out of the count."""
    import_module("chatkey_serving.websocket")
    LOG.disabled = True
    yield
    LOG.disabled = False


Pieces = Sequence[bytes | None]
"""What a client sends, piece by piece. None is the end of its half of the connection."""


class Hurried(selectors.DefaultSelector):
    """Waits for no timer, and counts the seconds that a loop would have waited."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.skipped += timeout or 0.0
        return super().select(0)


class Loop(asyncio.SelectorEventLoop):
    """A loop whose clock stands still, and jumps to the next timer when nothing else is left to do."""

    def __init__(self) -> None:
        self._hurried = Hurried()
        super().__init__(self._hurried)

    def time(self) -> float:
        return self._hurried.skipped

    def timers(self) -> list[asyncio.TimerHandle]:
        """Return the timers that will still call something."""
        scheduled: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        return [timer for timer in scheduled if not timer.cancelled()]


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(test())


@contextmanager
def bounded(sent: Callable[[], int], connections: int) -> Iterator[None]:
    """Fail if the block needs more memory at once than its bytes and connections are allowed."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= PER_BYTE * sent() + PER_CONNECTION * connections


SENT: Final = [
    sent
    for sent in chain(
        (row.sent for group in (*GROUPS, *HANDSHAKES) for row in group.rows),
        (HANDSHAKE + b"\r\n" + row.sent for rows in FRAMES.values() for row in rows),
    )
    if len(sent) < MOST_OF_A_ROW
]
DAMAGE: Final = [b"", b"\r", b"\n", b"\r\n\r\n", b"\0", b"\xff", b" ", b":", b";", b"0", b"\x81\xff", b"x" * 200]


@st.composite
def peers(draw: st.DrawFn) -> Pieces:
    """Generate what a client sends: the beginning of a row, perhaps damaged, in any pieces."""
    sent = draw(st.sampled_from(SENT))
    for at in draw(st.lists(st.integers(0, len(sent)), max_size=2)):
        sent = sent[:at] + draw(st.sampled_from(DAMAGE)) + sent[at + draw(st.integers(0, 4)) :]
    sent = sent[: draw(st.integers(0, len(sent)) | st.just(len(sent)))]
    cuts = sorted(draw(st.lists(st.integers(0, len(sent)), max_size=3)))
    pieces = [sent[start:end] for start, end in pairwise([0, *cuts, len(sent)])]
    return [*pieces, None] if draw(st.booleans()) else pieces


@seed(20)
@settings(max_examples=40, database=None, phases=(Phase.generate,))
@given(st.lists(peers(), min_size=60, max_size=60), st.booleans())
def test_a_connection_ends_in_time_needs_little_memory_and_leaves_nothing_behind(
    clients: list[Pieces], has_sockets: bool
) -> None:
    async def test() -> None:
        site = Site(app=echo, limits=LIMITS, has_sockets=has_sockets)
        with bounded(lambda: sum(len(piece or b"") for pieces in clients for piece in pieces), len(clients)):
            pipes = [Pipe(site) for _ in clients]
            for pipe, pieces in zip(pipes, clients, strict=True):
                for piece in pieces:
                    pipe.receive(piece)
                    await asyncio.sleep(0)
            await settled(site, *pipes)

        await asyncio.sleep(DEADLINE)

        assert [pieces for pipe, pieces in zip(pipes, clients, strict=True) if not pipe.is_closed] == []
        assert (site.connections, site.tasks) == (set(), set())
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Loop)
        assert loop.timers() == []

    run(test)


@seed(20)
@settings(max_examples=200, database=None)
@given(peers(), st.booleans())
def test_a_damaged_request_is_answered_the_same_however_it_is_cut(pieces: Pieces, has_sockets: bool) -> None:
    async def test() -> None:
        said = [piece for piece in pieces if piece is not None]
        sent = b"".join(said)
        answered: list[list[int]] = []
        for cut in (said, [sent], [bytes([byte]) for byte in sent]):
            line = Line(echo, limits=LIMITS, has_sockets=has_sockets)
            received = statuses(await line.hear(*cut))
            answered.append([400 if status in REFUSALS else status for status in received])
            await line.lose()

        assert answered[0] == answered[1] == answered[2]

    run(test)


@pytest.mark.contract("D-20/patience")
def test_a_request_that_drips_has_no_more_time_than_another() -> None:
    async def test() -> None:
        pipe = Pipe(Site(app=echo, limits=LIMITS))
        while not pipe.is_closed:
            pipe.receive(b"X")
            await asyncio.sleep(0.1)

        assert asyncio.get_running_loop().time() == pytest.approx(LIMITS.request_timeout, abs=0.1)

    run(test)


async def silent(scope: Any, receive: Any, send: Any) -> None:
    """An app that reads the body, and never answers."""
    while (await receive())["type"] == "http.request":
        pass


@pytest.mark.parametrize(
    ("begun", "unit"),
    [
        pytest.param(GET, b"a:\r\n", id="headers"),
        pytest.param(GET, b"X: " + b"a" * 1_000 + b"\r\n", id="long headers"),
        pytest.param(b"GET /", b"x" * 1_000, id="target"),
        pytest.param(GET + b"\r\n", GET + b"\r\n", id="pipelined requests"),
        pytest.param(GET + b"\r\n", b"GET / HTTP/1.0\r\n\r\n", id="small pipelined requests"),
        pytest.param(CHUNKED + b"0\r\n", b"a:\r\n", id="trailers"),
        pytest.param(CHUNKED, b"1;" + b"a" * 1_000, id="extension"),
        pytest.param(CHUNKED, b"1\r\nx\r\n", id="small chunks"),
        pytest.param(POST + b"Content-Length: 250000\r\n\r\n", b"x" * 1_000, id="body"),
    ],
)
def test_an_endless_request_is_cut_off_before_it_needs_more_memory_than_it_sends(begun: bytes, unit: bytes) -> None:
    most = 250_000
    sent = begun + unit * (most // len(unit))
    packets = [sent[start : start + PACKET] for start in range(0, len(sent), PACKET)]

    async def test() -> None:
        site, accepted = Site(app=silent, limits=LIMITS), 0
        with bounded(lambda: accepted, CROWD):
            pipes = [Pipe(site) for _ in range(CROWD)]
            for pipe in pipes:
                for packet in packets:
                    if pipe.is_closed or pipe.is_paused:
                        break
                    pipe.receive(packet)
                    accepted += len(packet)
                    await asyncio.sleep(0)
            await settled(site, *pipes)
        assert all(pipe.has_ended or pipe.is_paused for pipe in pipes)
        for pipe in pipes:
            pipe.abort()
        await asyncio.sleep(DEADLINE)
        assert (site.connections, site.tasks) == (set(), set())

    run(test)
