"""A TCP proxy before a server. It can cut open connections, or stop forwarding like a broken network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Literal

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
TURNS: Final = 10
"""Turns of the event loop in which clients in this process notice that their connection was cut."""
Lost = Literal["request", "answer"]
Reach = Callable[[], Awaitable[Streams]]


class Proxy:
    """Forwards bytes in both directions until a test silences or cuts the connections."""

    def __init__(self, reach: Reach) -> None:
        self.port = 0
        self.connections = 0
        self._reach = reach
        self._passes = asyncio.Event()
        self._passes.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stale = 0
        self._loses: Lost = "request"

    def silence(self) -> None:
        """Stop forwarding. Open connections stay open. New connections are accepted but get no response."""
        self._passes.clear()

    def resume(self) -> None:
        """Resume forwarding. Bytes that arrived in the meantime are sent too."""
        self._passes.set()

    def cut(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()

    def let_go(self, loses: Lost) -> None:
        """Cut each open connection at its next use, as after a switch-over: its next request or answer is lost."""
        self._stale, self._loses = self.connections, loses

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Proxy]:
        """Listen on a local port until the context ends."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.cut()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for _ in range(TURNS):
                await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._join(reader, writer, self.connections))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with suppress(asyncio.CancelledError):
            await task
        writer.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        await self._passes.wait()
        answers, there = await self._reach()
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass_on(reader, there, "request", number))
                both.create_task(self._pass_on(answers, writer, "answer", number))
        except* ConnectionError:
            pass  # one end has closed, so close the other
        finally:
            there.transport.abort()

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: Lost, number: int
    ) -> None:
        while data := await reader.read(65_536):
            await self._passes.wait()
            if number <= self._stale and kind == self._loses:
                break
            writer.write(data)
            await writer.drain()
        raise ConnectionError("one end has left")
