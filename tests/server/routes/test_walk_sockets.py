"""Sends hostile frames to both sockets. No frame may cause an internal failure or a traceback in the log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints
from uuid import uuid4

import pytest
from tests.hostile.routes import inputs
from tests.hostile.routes.asgi import Headers
from tests.hostile.routes.tables import Door, socket_paths
from tests.hostile.routes.walk import Headed

from chatkey_protocol.frames import WidgetFrame
from chatkey_protocol.names import SOCKET_PATH
from chatkey_server.panel.panel_frames import PanelFrame
from chatkey_server.peers.declarations import kind_of

if TYPE_CHECKING:
    from tests.server.in_process import OpenSocket, ServerClient, ServerSocket

AGENTS: Final = "/agent/socket"
FRAMES: Final = {SOCKET_PATH: get_args(WidgetFrame), AGENTS: get_args(PanelFrame)}
ANYWHERE: Final = Door("", frozenset())
HONEST: Final[dict[str, object]] = {
    "conversation": str(uuid4()),
    "id": "m1",
    "body": "hello",
    "action": "accept",
    "token": "x.y.z",
    "proof": "x.y.z",
    "query": "hello",
}


def frames(path: str) -> Iterator[str]:
    """Yield every hostile body as a text frame, and every declared frame with a hostile value in one member."""
    yield from (body.decode("utf-8", "surrogateescape") for _, body in inputs.BODIES.values())
    for declared in FRAMES[path]:
        kind, members = kind_of(declared), set(get_type_hints(declared)) - {"type"}
        honest = {name: HONEST[name] for name in members & HONEST.keys()}
        for name in members:
            for value in inputs.VALUES:
                yield json.dumps({"type": kind, **honest, name: value})


@pytest.fixture
async def headers(agent: Headed) -> dict[str, str]:
    given: Headers = await agent(ANYWHERE)
    return {name.decode(): value.decode() for name, value in given}


async def test_every_socket_is_walked(service: ServerClient) -> None:
    assert {SOCKET_PATH, *socket_paths(service.app)} == FRAMES.keys()


@pytest.mark.parametrize("path", FRAMES)
async def test_a_hostile_frame(
    service: ServerClient,
    open_socket: OpenSocket,
    headers: dict[str, str],
    failed: list[str],
    path: str,
) -> None:
    codes: set[str] = set()
    for text in frames(path):
        socket = await open_socket(service, path, headers=headers if path == AGENTS else {})
        assert (await socket.next())["type"] in {"hello", "ready"}
        await socket.send(text)
        codes.add(await code_of(socket))
        await socket.leave()
        assert not failed, f"{text[:200]}: {failed}"

    assert "internal" not in codes
    assert {"frame_invalid"} < codes


async def code_of(socket: ServerSocket) -> str:
    """Return the code in the next frame, or the frame's type if there is no code."""
    frame: dict[str, Any] = await socket.next()
    return str(frame.get("code", frame["type"]))
