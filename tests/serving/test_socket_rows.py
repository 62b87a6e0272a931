"""Runs the handshakes and frames of `socket_rows.py` against our socket, cut in several ways, and against a library."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from tests.serving.asking import expected, statuses
from tests.serving.http_rows import AFTER as REQUEST_AFTER
from tests.serving.http_rows import Group, Outcome
from tests.serving.pipe import CUTS, Line, echo
from tests.serving.socket_rows import DONE, FRAMES, HANDSHAKE, HANDSHAKES, LIMIT, Heard, SocketRow, close, heard_in
from tests.serving.test_handshake import answer_of_the_library
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from chatkey_serving.site import Limits
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Callable

each_group = pytest.mark.parametrize("group", HANDSHAKES, ids=[group.name for group in HANDSHAKES])
each_kind = pytest.mark.parametrize("rows", FRAMES.values(), ids=FRAMES.keys())
each_cut = pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())


@each_cut
@each_group
async def test_a_handshake_is_answered_the_same_however_it_is_cut(
    group: Group, cut: Callable[[bytes], list[bytes]]
) -> None:
    answered: dict[str, Outcome] = {}
    for row in group.rows:
        line = Line(echo)
        answered[row.id] = statuses(await line.hear(*cut(row.sent)))
        assert line.pipe.has_ended, row.id
        await line.lose()

    assert answered == expected(group)


@each_cut
@each_kind
async def test_frames_are_answered_the_same_however_they_are_cut(
    rows: list[SocketRow], cut: Callable[[bytes], list[bytes]]
) -> None:
    answered: dict[str, Heard] = {}
    for row in rows:
        line = Line(echo, limits=Limits(frame_bytes=LIMIT))
        head = await line.hear(HANDSHAKE + b"\r\n")
        answered[row.id] = heard_in((await line.hear(*cut(row.sent))).removeprefix(head))
        assert line.pipe.has_ended, row.id
        await line.lose()

    assert answered == {row.id: row.allowed[0] for row in rows}


# the library


@pytest.mark.long
@each_group
def test_the_library_answers_a_handshake_as_allowed_unless_the_row_says_why_not(group: Group) -> None:
    heads = {row: row.sent.removesuffix(REQUEST_AFTER).removesuffix(close(DONE)) for row in group.rows}

    differing = [row.id for row in group.rows if (answer_of_the_library(heads[row]).status_code,) not in row.allowed]

    assert differing == [row.id for row in group.rows if row.differs]


@pytest.mark.long
@each_kind
async def test_the_library_answers_frames_as_allowed_unless_the_row_says_why_not(rows: list[SocketRow]) -> None:
    async with serve(echoing, LOOPBACK, 0, max_size=LIMIT, compression=None, ping_interval=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with asyncio.timeout(PATIENCE):
            answered = [await heard_from_the_library(port, row.sent) for row in rows]

    differing = [row.id for row, heard in zip(rows, answered, strict=True) if heard not in row.allowed]
    assert differing == [row.id for row in rows if row.differs]


async def echoing(connection: ServerConnection) -> None:
    with suppress(ConnectionClosed):
        async for message in connection:
            await connection.send(message)


async def heard_from_the_library(port: int, sent: bytes) -> Heard:
    """Return what the library's server says. It discards the messages that it has not answered at a close."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    writer.write(HANDSHAKE + b"\r\n")
    await reader.readuntil(b"\r\n\r\n")
    received = b""
    with suppress(ConnectionError):
        writer.write(sent.removesuffix(close(DONE)))
        while some := await reader.read(65_536):
            received += some
            if received.endswith(b"after"):
                writer.write(close(DONE))
    writer.close()
    return heard_in(received)
