"""Tests of responses. The server must frame the body, and must not send what HTTP does not allow."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.serving.pipe import App, Line

from chatkey_serving.forwarded import BehindProxies

Headers = list[tuple[bytes, bytes]]

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
OLD = b"GET / HTTP/1.0\r\n\r\n"
HEAD = GET.replace(b"GET", b"HEAD")


def answering(headers: Headers, *parts: bytes, status: int = 200) -> App:
    """Return an application that answers with these headers and parts of a body."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body"})

    return app


LENGTH = (b"content-length", b"4")


@pytest.mark.parametrize(
    ("app", "request_", "answer", "closes"),
    [
        pytest.param(
            answering([LENGTH], b"ab", b"cd"),
            GET,
            b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcd",
            False,
            id="length",
        ),
        pytest.param(
            answering([], b"ab", b"cd"),
            GET,
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n",
            False,
            id="chunks",
        ),
        pytest.param(
            answering([], b"ab"), OLD, b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nab", True, id="until-the-end"
        ),
        pytest.param(
            answering([LENGTH], b"abcd"), HEAD, b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n", False, id="head"
        ),
        pytest.param(answering([], status=204), GET, b"HTTP/1.1 204 No Content\r\n\r\n", False, id="no-content"),
        pytest.param(
            answering([(b"connection", b"close"), LENGTH], b"abcd"),
            GET,
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 4\r\n\r\nabcd",
            True,
            id="close",
        ),
    ],
)
async def test_a_body_is_framed(app: App, request_: bytes, answer: bytes, closes: bool) -> None:
    line = Line(app)

    assert await line.hear(request_) == answer

    assert line.pipe.is_closing() is closes
    await line.lose()


@pytest.mark.parametrize(
    "headers", [[(b"x", b"a\r\nset-cookie: b")], [(b"x\n", b"a")], [(b"x y", b"a")], [(b"", b"a")], [(b"x", b"\0")]]
)
async def test_a_header_that_http_does_not_allow_becomes_500(
    headers: Headers, caplog: pytest.LogCaptureFixture
) -> None:
    line = Line(answering(headers))

    answer = await line.hear(GET)

    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b"set-cookie" not in answer
    assert "a name or value that HTTP does not allow" in caplog.text
    await line.lose()


@pytest.mark.parametrize("part", [b"abc", b"abcde"])
async def test_a_body_of_another_length_ends_the_connection(part: bytes, caplog: pytest.LogCaptureFixture) -> None:
    line = Line(answering([LENGTH], b"", part))

    await line.hear(GET)

    assert line.pipe.is_closing()
    assert "another size than its Content-Length" in caplog.text
    await line.lose()


async def test_a_body_that_the_client_announces_is_requested_when_the_application_reads_it() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": [LENGTH]})
        await send({"type": "http.response.body", "body": body})

    line = Line(app)
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"

    asked = await line.hear(head)
    answer = await line.hear(b"abcd")

    assert asked == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer.endswith(b"\r\n\r\nabcd")
    await line.lose()


@pytest.mark.contract("D-20/limits")
async def test_a_refusal_of_head_has_no_body() -> None:
    line = Line(answering([LENGTH], b"abcd"))

    head, _, body = (await line.hear(b"HEAD /\x80 HTTP/1.1\r\nHost: localhost\r\n\r\n")).partition(b"\r\n\r\n")

    assert (head[:12], body) == (b"HTTP/1.1 400", b"")
    await line.lose()


async def test_every_request_is_logged_if_the_site_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "chatkey.requests")
    line = Line(answering([LENGTH], b"abcd"))
    line.site.logs_requests = True

    await line.hear(GET.replace(b"/ ", b"/a%20b?c=d ", 1))

    assert caplog.messages == ['192.0.2.1:50000 - "GET /a%20b?c=d" 200']
    await line.lose()


@pytest.mark.parametrize(
    ("client", "forwarded", "seen"),
    [
        ("10.0.0.1", ["192.0.2.1"], "192.0.2.1"),
        ("10.0.0.1", ["192.0.2.9, 192.0.2.1"], "192.0.2.1"),
        ("10.0.0.1", ["192.0.2.9", "192.0.2.1, 10.1.2.3"], "192.0.2.1"),
        ("10.0.0.1", ["10.2.2.2, 10.1.2.3"], "10.2.2.2"),
        ("10.0.0.1", ["192.0.2.1:443"], "192.0.2.1"),
        ("10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::1"),
        ("10.0.0.1", ["2001:db8::1"], "2001:db8::1"),
        ("10.0.0.1", ["192.0.2.1, ::ffff:10.0.0.8"], "192.0.2.1"),
        ("::ffff:10.0.0.1", ["192.0.2.1, [::ffff:10.0.0.8]:443"], "192.0.2.1"),
        ("10.0.0.1", ["a name"], "a name"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("192.0.2.7", ["192.0.2.1"], "192.0.2.7"),
    ],
)
async def test_only_trusted_proxies_say_who_the_client_is(client: str, forwarded: list[str], seen: str) -> None:
    scopes: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)

    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded] + [(b"x-forwarded-proto", b"https")]
    scope = {"type": "websocket", "client": (client, 1), "scheme": "ws", "headers": headers}
    await BehindProxies(app, "10.0.0.0/8, ::1")(scope, None, None)  # type: ignore[arg-type]

    assert scopes[0]["client"][0] == seen
    assert scopes[0]["scheme"] == ("ws" if client == "192.0.2.7" else "wss")
