"""Tests of our WebSocket handshake.

The server must accept the handshakes of browsers as the library would, and must never accept what the library refuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from tests.serving.pipe import App, Line
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from chatkey_serving.site import CONNECTION, SAY
from chatkey_serving.websocket import DisconnectedError, SocketConnection

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
NO_BROWSER = {name: USUAL[name] for name in ("host", "connection", "upgrade", "sec-websocket-version")}
NO_BROWSER["sec-websocket-key"] = KEY
WORD = b"\x81\x85" + bytes(4) + b"Hello"
GOING = b"\x88\x82" + bytes(4) + b"\x03\xe9"


def request(headers: dict[str, str], first: str = "GET /v1/socket HTTP/1.1", more: Iterable[str] = ()) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in headers.items()), *more, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def answer_of_the_library(head: bytes) -> Response:
    """Return how the library `websockets` answers a handshake."""
    library = ServerProtocol()
    library.receive_data(head)
    for event in library.events_received():
        assert isinstance(event, Request)
        return library.accept(event)
    assert library.handshake_exc
    return library.reject(400, "")


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
    await send({"type": "websocket.http.response.start", "status": 503, "headers": [(b"retry-after", b"1")]})
    await send({"type": "websocket.http.response.body", "body": b"La", "more_body": True})
    await send({"type": "websocket.http.response.body", "body": b"ter."})


async def silent(scope: Any, receive: Any, send: Any) -> None:
    """An app that neither accepts nor refuses the socket."""
    await receive()


@pytest.mark.parametrize(
    ("head", "subprotocols"),
    [
        pytest.param(request(USUAL), ["wf.v1"], id="chromium"),
        pytest.param(request(NO_BROWSER), [], id="no-browser"),
        pytest.param(
            request(USUAL | {"sec-websocket-protocol": "wf.v2,wf.v1, chat"}), ["wf.v2", "wf.v1", "chat"], id="protocols"
        ),
        pytest.param(
            request(USUAL, more=["sec-websocket-protocol: chat"]), ["wf.v1", "chat"], id="protocols-in-two-lines"
        ),
    ],
)
async def test_a_usual_handshake_is_accepted_as_by_the_library(head: bytes, subprotocols: list[str]) -> None:
    line = Line(echo)

    answer, _, frames = (await line.hear(head, WORD, GOING)).partition(b"\r\n\r\n")

    chosen = [f"Sec-WebSocket-Protocol: {subprotocols[0]}"] if subprotocols else []
    assert answer.decode().split("\r\n") == [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {answer_of_the_library(head).headers['Sec-WebSocket-Accept']}",
        "x-a: b",
        *chosen,
    ]
    assert (frames, line.pipe.is_closing()) == (b"\x81\x05Hello\x88\x02\x03\xe9", True)
    assert line.scopes[0]["subprotocols"] == subprotocols
    await line.lose()


async def test_the_application_receives_the_request() -> None:
    line = Line(echo)

    await line.hear(request(NO_BROWSER, "GET /v1/%73ocket?utm=%2F&x=a?b HTTP/1.1"))

    scope = dict(line.scopes[0])
    extensions = scope.pop("extensions")
    assert extensions.keys() == {"websocket.http.response", CONNECTION, SAY}
    assert extensions[CONNECTION] is line.pipe.protocol
    assert scope == {
        "type": "websocket",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "scheme": "ws",
        "server": ("127.0.0.1", 8800),
        "client": ("192.0.2.1", 50_000),
        "root_path": "",
        "path": "/v1/socket",
        "raw_path": b"/v1/%73ocket",
        "query_string": b"utm=%2F&x=a?b",
        "headers": [(name.encode(), value.encode()) for name, value in NO_BROWSER.items()],
        "subprotocols": [],
        "state": {"a": 1},
    }
    await line.lose()


@pytest.mark.parametrize(
    ("app", "status", "headers", "body"),
    [
        (away, "403 Forbidden", [], ""),
        (busy, "503 Service Unavailable", ["retry-after: 1"], "Later."),
        (silent, "500 Internal Server Error", ["content-type: text/plain; charset=utf-8"], "Internal Server Error"),
    ],
)
async def test_an_application_can_refuse_a_socket_with_a_response(
    app: App, status: str, headers: list[str], body: str
) -> None:
    line = Line(app)

    answer = (await line.hear(request(USUAL))).decode()

    own = ["connection: close", f"content-length: {len(body)}"]
    assert answer.split("\r\n") == [f"HTTP/1.1 {status}", *headers, *own, "", body]

    assert line.pipe.is_closing()
    await line.lose()


async def test_another_version_gets_the_supported_one() -> None:
    line = Line(echo)

    answer = await line.hear(request(USUAL | {"sec-websocket-version": "8"}))

    assert {b"Sec-WebSocket-Version: 13", b"Upgrade: websocket"} <= set(answer.split(b"\r\n"))
    await line.lose()


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
        with pytest.raises(DisconnectedError):
            await send({"type": "websocket.accept"})

    line = Line(late)
    await line.hear(request(USUAL))
    line.pipe.abort()
    asyncio.get_running_loop().call_soon(may_accept.set)

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


async def test_a_message_can_be_sent_at_once_while_the_peer_reads() -> None:
    line = Line(echo)
    await line.hear(request(USUAL))
    (scope,) = line.scopes
    say = scope["extensions"][SAY]
    assert isinstance(line.pipe.protocol, SocketConnection)

    said = [say("Ähm".encode())]
    line.pipe.protocol.pause_writing()
    said.append(say(b"later"))
    line.pipe.protocol.resume_writing()
    await line.hear(GOING)
    said.append(say(b"too late"))

    assert said == [True, False, False]
    assert line.pipe.written.partition(b"\r\n\r\n")[2] == b"\x81\x04" + "Ähm".encode() + b"\x88\x02\x03\xe9"
    await line.lose()


async def test_a_message_before_the_socket_is_open_is_not_sent_at_once() -> None:
    seen: list[bool] = []

    async def early(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["extensions"][SAY](b"Hello"))

    line = Line(early)

    answer = await line.hear(request(USUAL))

    assert seen == [False]
    assert answer.startswith(b"HTTP/1.1 500 ")
    await line.lose()
