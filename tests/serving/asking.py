"""Sends rows to a server over TCP."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.serving.http_rows import Group, Outcome

REFUSALS: Final = frozenset({400, 413, 414, 417, 426, 431, 501, 505})
"""Statuses with which a server itself refuses a request."""


def statuses(received: bytes) -> Outcome:
    """Return the status of each final response, and 101."""
    return tuple(int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", received) if status != b"100")


async def answers(port: int, sent: Iterable[bytes], opening: bytes = b"") -> list[bytes]:
    """Open a connection for each text, and return what it receives until the server closes it.

    With an opening, the text is sent after the response to it, which is not returned.
    """

    async def answer(data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        received = bytearray()
        with suppress(ConnectionError):  # the server may close before it has read everything
            if opening:
                writer.write(opening)
                await reader.readuntil(b"\r\n\r\n")
            writer.write(data)
            while some := await reader.read(65_536):
                received += some
        writer.close()
        return bytes(received)

    async with asyncio.timeout(PATIENCE):
        return await asyncio.gather(*map(answer, sent))


async def outcomes(port: int, group: Group) -> dict[str, Outcome]:
    """Return how a server answers each row of a group."""
    received = await answers(port, (row.sent for row in group.rows))
    return {row.id: statuses(each) for row, each in zip(group.rows, received, strict=True)}


def expected(group: Group) -> dict[str, Outcome]:
    return {row.id: row.allowed[0] for row in group.rows}


def with_200(outcome: Outcome) -> Outcome:
    """Replace each status that the application chose by 200, as if every place existed."""
    return tuple(status if status == 101 or status in REFUSALS else 200 for status in outcome)
