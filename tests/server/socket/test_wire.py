"""Tests of the socket on the real server.

They show what a browser receives when the server refuses a WebSocket (D-10, D-16).
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from chatkey_protocol.codes import Close
from chatkey_server.app import create_app
from chatkey_server.commands.serve import uvicorn_config
from chatkey_server.settings import Limits, Settings
from chatkey_server.socket import close_all
from chatkey_stack.patience import PATIENCE

Fixture = Any


@pytest.fixture
async def served(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fixture]:
    """Run the app on uvicorn in this process, with the configuration of `chatkey serve`."""
    monkeypatch.setattr(logging.getLogger("uvicorn.access"), "propagate", True)  # uvicorn changes it globally
    listener = socket.create_server(("127.0.0.1", 0))
    settings = Settings(
        base_url=f"http://localhost:{listener.getsockname()[1]}",
        data_dir=tmp_path,
        database_url=sqlite_url,
        limits=Limits(frame_bytes=2000),
    )
    app = create_app(settings)
    server = uvicorn.Server(uvicorn_config(app, settings))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    yield app.state.services
    server.should_exit = True
    await running


def dial(services: Fixture, origin: str | None = None) -> connect:
    return connect(
        services.settings.socket_uri.replace("localhost", "127.0.0.1"),
        subprotocols=[Subprotocol("wf.v1")],
        origin=Origin(origin) if origin else None,
        proxy=None,
        compression=None,
        open_timeout=PATIENCE,
    )


async def ending(client: ClientConnection) -> tuple[str, int, str]:
    error = json.loads(await client.recv())
    with pytest.raises(ConnectionClosed) as closed:
        await client.recv()
    assert closed.value.rcvd is not None
    return error["code"], closed.value.rcvd.code, closed.value.rcvd.reason


@pytest.mark.contract("D-10/accept-first")
async def test_a_refused_page_gets_the_reason_and_the_close_code(served: Fixture) -> None:
    async with dial(served, "http://shop.test") as client:
        assert client.subprotocol == "wf.v1"
        assert await ending(client) == ("insecure_origin", Close.FORBIDDEN, "insecure_origin")


async def test_a_frame_of_the_limit_is_read_and_a_bigger_one_is_cut_off_with_1009(served: Fixture) -> None:
    async with dial(served) as client:
        await client.recv()
        await client.send("x" * 2000)
        assert await ending(client) == ("frame_invalid", Close.BAD_FRAME, "frame_invalid")
    async with dial(served) as client:
        await client.recv()
        await client.send("x" * 2001)
        with pytest.raises(ConnectionClosed) as closed:
            await client.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == Close.TOO_BIG


async def test_a_binary_frame_is_refused(served: Fixture) -> None:
    async with dial(served) as client:
        await client.recv()
        await client.send(b'{"type":"ping"}')

        assert await ending(client) == ("frame_invalid", Close.BAD_FRAME, "frame_invalid")


@pytest.mark.contract("D-16/restart-1012")
async def test_a_shutdown_closes_with_1012(served: Fixture) -> None:
    async with dial(served) as client:
        await client.recv()

        await close_all(served)

        assert await ending(client) == ("restarting", Close.RESTART, "restarting")
