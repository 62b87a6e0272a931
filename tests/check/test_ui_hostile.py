"""Tests of hostile requests to the `--ui` page.

It must answer with a readable error, never with a closed connection or a traceback.
"""

from __future__ import annotations

import base64
import json
import socket
import struct
from collections.abc import Iterator
from threading import Thread
from typing import Any, Final

import httpx
import pytest

from chatkey_check.running.runner import Selection
from chatkey_check.target import Target
from chatkey_check.ui.desk import Desk
from chatkey_check.ui.serve import UiServer
from chatkey_stack.patience import PATIENCE

PLACES: Final = ("send", "run", "token")
DEEP: Final = "[" * 60_000 + "]" * 60_000
DIGITS: Final = "9" * 5_000

ODD: Final[dict[str, Any]] = {
    "null": None,
    "true": True,
    "a fraction": 1.5,
    "a negative number": -1,
    "a large number": 2**70,
    "infinity": float("inf"),
    "a list": [],
    "an object": {"a": [1]},
    "nothing": "",
    "NUL": "\0",
    "a line end": "a\r\nb: c",
    "half a character": "\ud800",
    "a long text": "x" * 900_000,
    "letters": "müller: ü",
    "beyond Latin-1": "\u4e2d: \u4e2d",
    "an emoji": "\U0001f600",
    "an Arabic digit": "\u0661",
}
URLS: Final = [
    *("//", "http://", "http://[::1", "{at}:x/", "{at}:99999/", "ftp://127.0.0.1/", "{origin}/\0", "{origin}/\ud800"),
    *("{origin}\\@evil.test/", "http://:@{host}/", "{origin}/" + "x" * 70_000, "javascript:alert(1)", "\u4e2d"),
]
METHODS: Final = ["", "GET ", "G\0T", "\u0661", "x" * 70_000, "connect", "trace", "pri"]
HEADERS: Final = [
    *(":", "a b: c", "a", "a:\0", "a: \u4e2d", "a: \ud800", "Host:\nHost:", "Content-Length: x", "Content-Length: -1"),
    *("Transfer-Encoding: x", "Expect: 100-continue", "Upgrade: websocket", "a: " + "x" * 200_000, "a: b\n" * 2_000),
]
BODIES: Final[dict[str, bytes]] = {
    "nothing": b"",
    "null": b"null",
    "a list": b"[]",
    "NaN": b"NaN",
    "half of an object": b"{",
    "invalid UTF-8": b'{"token": "\xff"}',
    "UTF-16": '{"token": "x"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"token": "x"}',
    "half a character": b'{"token": "\\ud800"}',
    "NUL": b"\0",
    "depth": DEEP.encode(),
    "depth where nothing is read": b'{"more": ' + DEEP.encode() + b"}",
    "a number of 5,000 digits": b'{"token": ' + DIGITS.encode() + b"}",
    "an id of 5,000 digits": b'{"id": ' + DIGITS.encode() + b', "method": "GET", "url": "", "headers": "", "body": ""}',
    "an infinite id": b'{"id": 1e999, "method": "GET", "url": "", "headers": "", "body": ""}',
}
TOKENS: Final[dict[str, str]] = {
    "depth": DEEP,
    "a number of 5,000 digits": f'{{"exp": {DIGITS}}}',
    "a number of 5,000 digits as uid": f'{{"uid": {DIGITS}}}',
    "half a character": '{"uid": "\\ud800", "name": "\\udfff"}',
    "depth in a claim": f'{{"cnf": {DEEP}, "uid": {DEEP}}}',
    "NaN": '{"exp": NaN, "iat": Infinity}',
    "wrong types": '{"exp": {}, "iat": [], "uid": 1, "cnf": "x", "pid": null, "type": {}, "avatar": 5, "name": []}',
    "null": "null",
    "odd addresses": '{"avatar": "http://[", "email": "@", "name": "\\u0000"}',
    "no JSON": "{",
}


@pytest.fixture
def server(target: Target) -> Iterator[UiServer]:
    with UiServer(Desk(target, Selection(only=("req.post-json",)))) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _quiet(server: UiServer, capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Assert after each test that the page still works and that nothing was printed to the terminal."""
    yield
    state = httpx.get(f"{server.url}state", timeout=PATIENCE).json()
    again = posted(server, "send", whole(state))
    assert (again.status_code, again.json()["status"]) == (200, 200)
    assert capsys.readouterr().err == ""


def posted(server: UiServer, place: str, asked: object) -> httpx.Response:
    content = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
    headers = {"Origin": server.origin, "Content-Type": "application/json"}
    return httpx.post(f"{server.url}{place}", headers=headers, content=content, timeout=PATIENCE)


def whole(state: dict[str, Any], **changes: object) -> dict[str, object]:
    """Return the body with which the page repeats the first call, with optional changes."""
    return {name: state["calls"][0][name] for name in ("id", "method", "url", "headers", "body")} | changes


def told(answer: httpx.Response) -> str:
    """Return the error message of a 4xx response, or "done" for a 200. Other statuses fail the test."""
    assert answer.status_code == 200 or 400 <= answer.status_code < 500, answer.text
    return answer.json().get("error", "") if answer.status_code >= 400 else "done"


@pytest.mark.parametrize("member", ["id", "method", "url", "headers", "body", "more"])
def test_a_call_with_an_odd_member(server: UiServer, member: str) -> None:
    state = httpx.get(f"{server.url}state", timeout=PATIENCE).json()

    for odd in ODD.values():
        assert told(posted(server, "send", whole(state, **{member: odd}))), odd


def test_a_call_without_a_member(server: UiServer) -> None:
    asked = whole(httpx.get(f"{server.url}state", timeout=PATIENCE).json())

    for missing in asked:
        part = {name: value for name, value in asked.items() if name != missing}
        assert "the expected JSON" in told(posted(server, "send", part)), missing


def test_an_odd_value_instead_of_a_token(server: UiServer) -> None:
    for odd in ODD.values():
        assert told(posted(server, "token", {"token": odd})), odd


@pytest.mark.parametrize("part", ["header", "payload"])
def test_a_token_with_odd_claims(server: UiServer, part: str) -> None:
    for name, claims in TOKENS.items():
        odd = base64.urlsafe_b64encode(claims.encode()).decode().rstrip("=")
        token = f"{odd}.e30.x" if part == "header" else f"eyJhbGciOiJIUzI1NiJ9.{odd}.x"

        assert told(posted(server, "token", {"token": token})) == "done", name


@pytest.mark.parametrize("place", PLACES)
def test_an_odd_body(server: UiServer, place: str) -> None:
    for name, body in BODIES.items():
        assert told(posted(server, place, body)), name


@pytest.mark.parametrize(("member", "odds"), [("url", URLS), ("method", METHODS), ("headers", HEADERS)])
def test_a_call_that_cannot_be_sent(server: UiServer, member: str, odds: list[str]) -> None:
    state = httpx.get(f"{server.url}state", timeout=PATIENCE).json()
    origin = "/".join(state["calls"][0]["url"].split("/")[:3])

    for odd in odds:
        at = origin.rpartition(":")[0]
        written = odd.replace("{origin}", origin).replace("{host}", origin[7:]).replace("{at}", at)
        assert told(posted(server, "send", whole(state, **{member: written}))), odd


HEADS: Final = {
    "no method": b" {path} HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "one word": b"GET\r\n\r\n",
    "a binary method": b"\x00\xff {path} HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a long line": b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
    "a long header": b"GET {path} HTTP/1.1\r\nHost: {host}\r\na: " + b"x" * 70_000 + b"\r\n\r\n",
    "many headers": b"GET {path} HTTP/1.1\r\nHost: {host}\r\n" + b"a: b\r\n" * 200 + b"\r\n",
    "another version": b"GET {path} HTTP/2.0\r\nHost: {host}\r\n\r\n",
    "no version": b"GET {path} HTTP/x\r\nHost: {host}\r\n\r\n",
    "a version of many digits": b"GET {path} HTTP/" + b"1" * 5_000 + b".1\r\nHost: {host}\r\n\r\n",
    "a header without a colon": b"GET {path} HTTP/1.1\r\nHost: {host}\r\nabc\r\n\r\n",
    "no Host": b"GET {path} HTTP/1.1\r\n\r\n",
    "two Hosts": b"GET {path} HTTP/1.1\r\nHost: {host}\r\nHost: evil.test\r\n\r\n",
    "a binary Host": b"GET {path} HTTP/1.1\r\nHost: \xff\x00\r\n\r\n",
    "an absolute path": b"GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a star": b"OPTIONS * HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a binary path": b"GET /\xff\xfe/\x00 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    **{
        method: f"{method} {{path}} HTTP/1.1\r\nHost: {{host}}\r\n\r\n".encode()
        for method in ("HEAD", "PUT", "TRACE", "CONNECT", "get", "GETX")
    },
    **{
        f"Content-Length: {length[:20]}": b"POST {path}token HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
        b"Content-Type: application/json\r\nContent-Length: " + length.encode("latin-1") + b"\r\n\r\n{}"
        for length in ("", "x", "-1", "0x2", "\xb2", "1_0", "2, 2", DIGITS, "1000001", "50")
    },
    "no length": b"POST {path}token HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "chunks": b"POST {path}token HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "chunks and a length": b"POST {path}token HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n"
    b"Content-Length: 2\r\n\r\n{}",
    "two lengths": b"POST {path}token HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "a binary Origin": b"POST {path}token HTTP/1.1\r\nHost: {host}\r\nOrigin: \xff\r\nContent-Length: 2\r\n\r\n{}",
    "an odd media type": b"POST {path}token HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
    b"Content-Type: ;;/=\xff\r\nContent-Length: 2\r\n\r\n{}",
}


def test_an_odd_head(server: UiServer) -> None:
    path, host = f"/{server.key}/".encode(), server.origin.removeprefix("http://").encode()
    for name, head in HEADS.items():
        answer = over_the_wire(server, head.replace(b"{path}", path).replace(b"{host}", host))

        status = answer.partition(b" ")[2][:3]
        assert answer.startswith(b"HTTP/1.1 "), (name, answer[:200])
        assert status == b"200" or status.startswith(b"4"), (name, answer[:200])
        assert status == b"200" or name == "HEAD" or json.loads(answer.partition(b"\r\n\r\n")[2])["error"], name


def test_a_body_that_does_not_come_is_refused(server: UiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.RequestHandlerClass, "timeout", 0.1)
    head = b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n{"

    assert over_the_wire(server, head, is_over=False).startswith(b"HTTP/1.1 408 ")


def test_a_closed_connection_causes_no_traceback(server: UiServer) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=PATIENCE) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closes with a reset
        wire.sendall(f"GET /{server.key}/state HTTP/1.1\r\nHost: x\r\n".encode())


def over_the_wire(server: UiServer, sent: bytes, *, is_over: bool = True) -> bytes:
    """Send bytes over a plain connection, and return the complete response."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=PATIENCE) as wire:
        wire.sendall(sent)
        if is_over:
            wire.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: wire.recv(65_536), b""))
