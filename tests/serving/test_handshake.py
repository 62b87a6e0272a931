"""Tests of our WebSocket handshake.

Our code must answer usual requests as the library would, and must pass all other requests to the library.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.server import ServerState

from chatkey_server.commands import serve
from chatkey_server.limits.connections import Connections
from chatkey_server.settings import Limits
from chatkey_serving import handshake
from chatkey_serving.handshake import MOST_BYTES
from chatkey_serving.patient_socket import PatientSocket
from chatkey_stack.patience import PATIENCE

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
USUAL = {
    "host": "chat.example",
    "connection": "Upgrade",
    "upgrade": "websocket",
    "origin": "https://shop.example",
    "sec-websocket-version": "13",
    "sec-websocket-key": KEY,
    "sec-websocket-extensions": "permessage-deflate; client_max_window_bits",
    "sec-websocket-protocol": "wf.v1",
}
FIREFOX = USUAL | {"accept": "*/*", "connection": "keep-alive, Upgrade", "sec-fetch-mode": "websocket"}
BEHIND_NGINX = USUAL | {"connection": "upgrade", "x-forwarded-for": "192.0.2.7", "x-forwarded-proto": "https"}
NO_BROWSER = {name: USUAL[name] for name in ("host", "connection", "upgrade", "sec-websocket-version")}
NO_BROWSER["sec-websocket-key"] = KEY
WORD = b"\x81\x85" + bytes(4) + b"Hello"
GOING = b"\x88\x82" + bytes(4) + b"\x03\xe9"

App = Callable[[Any, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


def request(headers: dict[str, str], first: str = "GET /v1/socket HTTP/1.1", more: Iterable[str] = ()) -> bytes:
    """Build an upgrade request in the form in which uvicorn passes it on."""
    lines = [first, *(f"{name}: {value}" for name, value in headers.items()), *more, "", ""]
    return "\r\n".join(lines).encode("latin-1")


class Pipe(asyncio.Transport):
    """A connection whose peer does nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.packets: list[bytes] = []
        self._is_closing = False

    @property
    def written(self) -> bytes:
        return b"".join(self.packets)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("192.0.2.1", 50_000), "sockname": ("127.0.0.1", 8800)}.get(name, default)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.packets.append(bytes(data))

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True


class Line:
    """One connection to an app, after uvicorn has read the upgrade request."""

    def __init__(self, app: App, *, deflate: bool = False) -> None:
        self.scopes: list[Any] = []

        async def noting(scope: Any, receive: Any, send: Any) -> None:
            self.scopes.append(scope)
            await app(scope, receive, send)

        config = uvicorn.Config(noting, log_config=None, ws_per_message_deflate=deflate, ws_ping_interval=None)
        config.load()
        self.state = ServerState()
        self.pipe = Pipe()
        made = serve.patient_socket(Limits(), Connections(0, 64, ""))(
            config=config, server_state=self.state, app_state={"a": 1}
        )
        self.protocol: PatientSocket = made
        self.protocol.connection_made(self.pipe)

    async def hear(self, *said: bytes) -> bytes:
        """Let the peer send these pieces. Returns everything that the peer has received so far."""
        for data in said:
            self.protocol.data_received(data)
            for _ in range(5):
                await asyncio.sleep(0)
        return self.pipe.written

    async def lose(self) -> None:
        tasks = tuple(self.state.tasks)
        self.protocol.connection_lost(None)
        await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """An app that accepts the first offered subprotocol, sends a header, and echoes every message."""
    await receive()
    first = (scope["subprotocols"] or [None])[0]
    await send({"type": "websocket.accept", "subprotocol": first, "headers": [(b"x-a", b"b")]})
    while (event := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": event["text"]})


async def away(scope: Any, receive: Any, send: Any) -> None:
    """An app that refuses the socket before it is open."""
    await receive()
    await send({"type": "websocket.close", "code": 4400})


async def busy(scope: Any, receive: Any, send: Any) -> None:
    """An app that answers a handshake with an HTTP response."""
    await receive()
    await send({"type": "websocket.http.response.start", "status": 503, "headers": [(b"date", b"now")]})
    await send({"type": "websocket.http.response.body", "body": b"Later."})


async def silent(scope: Any, receive: Any, send: Any) -> None:
    """An app that neither accepts nor refuses the socket."""
    await receive()


@pytest.mark.parametrize("app", [echo, away, busy, silent], ids=lambda app: app.__name__)
@pytest.mark.parametrize(
    "head",
    [
        pytest.param(request(USUAL), id="chromium"),
        pytest.param(request(FIREFOX), id="firefox"),
        pytest.param(request(BEHIND_NGINX), id="behind-nginx"),
        pytest.param(request(NO_BROWSER), id="no-browser"),
        pytest.param(request(USUAL | {"sec-websocket-protocol": "wf.v2,wf.v1, chat"}), id="protocols"),
        pytest.param(request(USUAL, "GET /v1/socket?utm=%2F&x=a?b HTTP/1.1"), id="query"),
        pytest.param(request(USUAL | {"upgrade": "WebSocket"}), id="capitals"),
    ],
)
async def test_a_usual_handshake_is_answered_as_by_the_library(
    head: bytes, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert handshake.read(head) is not None
    ours = Line(app)
    answered = await ours.hear(head, WORD, GOING)
    monkeypatch.setattr(handshake, "read", lambda _: None)
    theirs = Line(app)

    assert answered == await theirs.hear(head, WORD, GOING)

    assert ours.scopes == theirs.scopes
    assert ours.pipe.is_closing() == theirs.pipe.is_closing()
    await ours.lose()
    await theirs.lose()


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(request(USUAL, "POST /v1/socket HTTP/1.1"), id="method"),
        pytest.param(request(USUAL, "GET /v1/socket HTTP/1.0"), id="http-1.0"),
        pytest.param(request(USUAL, "GET http://chat.example/v1/socket HTTP/1.1"), id="absolute"),
        pytest.param(request(USUAL, "GET /v1/%73ocket HTTP/1.1"), id="encoded"),
        pytest.param(request(USUAL, "GET //v1/socket HTTP/1.1"), id="empty-segment"),
        pytest.param(request(USUAL, "GET /v1/socket?a=\xe9 HTTP/1.1"), id="query-no-ascii"),
        pytest.param(request(USUAL | {"connection": "close"}), id="connection"),
        pytest.param(request(USUAL | {"upgrade": "h2c"}), id="upgrade"),
        pytest.param(request(USUAL | {"upgrade": "websocket, h2c"}), id="upgrades"),
        pytest.param(request(USUAL | {"sec-websocket-version": "8"}), id="version"),
        pytest.param(request(USUAL | {"sec-websocket-key": "dGhlIHNhbXBsZQ=="}), id="key-short"),
        pytest.param(request(USUAL | {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZR=="}), id="key-loose-bits"),
        pytest.param(request(USUAL, more=[f"sec-websocket-key: {KEY}"]), id="key-twice"),
        pytest.param(request(USUAL, more=["origin: https://shop.example"]), id="origin-twice"),
        pytest.param(request(USUAL, more=["x-forwarded-for: 192.0.2.7"] * 2), id="other-twice"),
        pytest.param(request(USUAL | {"sec-websocket-protocol": "a,,b"}), id="protocols"),
        pytest.param(request(USUAL | {"content-length": "0"}), id="content-length"),
        pytest.param(request(USUAL | {"transfer-encoding": "chunked"}), id="transfer-encoding"),
        pytest.param(request(USUAL | {"x_a": "b"}), id="name"),
        pytest.param(request(USUAL | {"X-A": "b"}), id="name-not-as-handed-over"),
        pytest.param(request(USUAL | {"x-a": ""}), id="value-empty"),
        pytest.param(request(USUAL | {"x-a": "b "}), id="value-ends-with-space"),
        pytest.param(request(USUAL | {"x-a": "b\tc"}), id="value-tab"),
        pytest.param(request(USUAL | {"x-a": "b\nc"}), id="value-line"),
        pytest.param(request(USUAL | {"x-a": "\xe9"}), id="value-no-ascii"),
        pytest.param(request(USUAL | {"x-a": "b" * MOST_BYTES}), id="too-much"),
        pytest.param(request(USUAL)[:-2], id="unfinished"),
        pytest.param(request(USUAL) + WORD, id="more-than-a-head"),
        pytest.param(request(USUAL).replace(b"\r\n", b"\n"), id="line-ends"),
        *(
            pytest.param(request({name: value for name, value in USUAL.items() if name != missing}), id=f"no-{missing}")
            for missing in ("connection", "upgrade", "sec-websocket-version", "sec-websocket-key")
        ),
        pytest.param(b"", id="nothing"),
    ],
)
def test_unusual_handshakes_are_left_to_the_library(head: bytes) -> None:
    assert handshake.read(head) is None


async def test_the_library_refuses_what_is_wrong() -> None:
    line = Line(echo)

    answer = await line.hear(request(USUAL | {"sec-websocket-key": "short"}))

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert line.scopes == []


async def test_handshakes_with_compression_are_answered_by_the_library() -> None:
    line = Line(echo, deflate=True)

    answer = await line.hear(request(USUAL))

    assert b"\r\nSec-WebSocket-Extensions: permessage-deflate" in answer
    await line.lose()


async def test_only_the_first_request_of_a_connection_can_be_a_handshake() -> None:
    """Bytes after the head of an earlier request have not been validated as a handshake."""
    line = Line(echo)

    await line.hear(request(USUAL | {"transfer-encoding": "chunked"}), request(USUAL))

    assert line.scopes == []


async def test_frames_sent_at_once_leave_in_the_packet_of_the_answer() -> None:
    async def eager(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": "Hello"})
        await receive()

    line = Line(eager)

    await line.hear(request(USUAL))

    assert [(packet[:12], packet[-7:]) for packet in line.pipe.packets] == [(b"HTTP/1.1 101", b"\x81\x05Hello")]
    await line.lose()


async def test_a_peer_that_left_before_the_app_accepts_raises_a_disconnect() -> None:
    may_accept = asyncio.Event()

    async def late(scope: Any, receive: Any, send: Any) -> None:
        await may_accept.wait()
        with pytest.raises(ClientDisconnected):
            await send({"type": "websocket.accept"})

    line = Line(late)
    await line.hear(request(USUAL))
    may_accept.set()

    await line.lose()

    assert line.pipe.written == b""


async def test_a_socket_is_accepted_once() -> None:
    async def twice(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        with pytest.raises(RuntimeError, match=r"websocket\.accept"):
            await send({"type": "websocket.accept"})

    line = Line(twice)

    answer = await line.hear(request(USUAL))

    assert answer.count(b"HTTP/1.1 101 ") == 1
    await line.lose()
