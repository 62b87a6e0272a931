"""Tests of a server's start and end. It must report when it is ready, finish tasks, and drop idle connections."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from chatkey_serving.server import Server, _most_connections
from chatkey_serving.site import App, Site
from chatkey_stack.patience import PATIENCE

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def app(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    del scope, receive
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def withheld(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    """Send the first part of a response, and the rest never."""
    del scope
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"first", "more_body": True})
    while (await receive())["type"] != "http.disconnect":
        pass


@asynccontextmanager
async def serving(
    leaving: Callable[[], Awaitable[None]] | None = None, app: App = app
) -> AsyncIterator[tuple[Server, int]]:
    """Run a server.

    Yields the server and its port when the server is ready. When the context ends, it waits until the server has
    stopped.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    ready = asyncio.Event()
    site = Site(app=app, has_lifespan=False)
    server = Server(site, ready.set, leaving) if leaving else Server(site, ready.set)
    running = asyncio.create_task(server.serve([listener]))
    async with asyncio.timeout(PATIENCE):
        await ready.wait()
        yield server, listener.getsockname()[1]
        server.stop()
        await running


async def test_the_work_before_the_stop_is_done_while_connections_are_open() -> None:
    there: list[bool] = []

    async def leaving() -> None:
        there.append(not reader.at_eof())

    async with serving(leaving) as (_, port):
        reader, writer = await answered(port)

    assert there == [True]
    assert await is_cut(reader)
    writer.close()


async def test_idle_and_silent_connections_do_not_keep_the_server_from_stopping() -> None:
    async with serving() as (_, port):
        opened = [await asyncio.open_connection("127.0.0.1", port), await answered(port)]

    for reader, writer in opened:
        assert await is_cut(reader)
        writer.close()


async def test_without_room_the_connection_that_has_waited_longest_for_a_request_is_broken() -> None:
    async with serving() as (server, port):
        server.site.most_connections = 3
        crowd = [await asyncio.open_connection("127.0.0.1", port), await answered(port), await answered(port)]
        crowd[0][1].write(REQUEST[:20])

        crowd.append(await answered(port))

        assert await is_cut(crowd[1][0])  # an idle connection ends sooner than one with the beginning of a request
        assert not any(reader.at_eof() for reader, _ in (crowd[0], *crowd[2:]))
        for _, writer in crowd:
            writer.close()


async def test_a_server_that_is_full_of_requests_in_progress_breaks_the_new_connection() -> None:
    async with serving(app=withheld) as (server, port):
        server.site.most_connections = 1
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        await reader.readuntil(b"first")

        late, its_writer = await asyncio.open_connection("127.0.0.1", port)

        assert await is_cut(late)
        assert not reader.at_eof()
        writer.close()
        its_writer.close()


def test_descriptors_are_kept_for_files_and_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = iter((400, 20, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (next(limits), 0))

    assert [_most_connections() for _ in range(3)] == [336, 10, 0]


async def answered(port: int, request: bytes = REQUEST) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection, and wait for the beginning of a response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def is_cut(reader: asyncio.StreamReader) -> bool:
    """Return whether the connection ended without further data."""
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True
