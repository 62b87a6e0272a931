"""Tests of ambiguous HTTP requests (RFC 9112 6.3, 11.2).

The server must refuse such a request or read it as one request.
"""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

import pytest

from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
CALLBACK = b"POST /v1/public/oauth/google/callback HTTP/1.1\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"


def statuses(response: bytes) -> list[int]:
    """Return the status of each response in the received bytes."""
    return [int(found) for found in re.findall(rb"HTTP/1\.[01] (\d{3}) ", response)]


def get(shop: Shop, *headers: bytes, body: bytes = b"", version: bytes = b"1.1") -> bytes:
    """Return a raw GET request for a shop's configuration."""
    line = b"GET %s HTTP/%s" % (shop.path.encode(), version)
    return b"\r\n".join([line, b"Host: localhost", b"Connection: close", *headers, b"", b""]) + body


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param((b"Content-Length: 5",), b"hello", id="HTP-022-body"),
        pytest.param((b"Transfer-Encoding: chunked",), b"5\r\nhello\r\n0\r\n\r\n", id="HTP-022-chunked"),
        pytest.param((b"Content-Length: 5", b"Content-Type: application/json"), b"{bad}", id="HTP-022-json"),
    ],
)
def test_the_body_of_a_get_is_ignored(service: Service, shop: Shop, headers: tuple[bytes, ...], body: bytes) -> None:
    answers = [service.raw(get(shop)), service.raw(get(shop, *headers, body=body))]

    assert [statuses(answer) for answer in answers] == [[200], [200]]
    assert answers[0].partition(b"\r\n\r\n")[2] == answers[1].partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param((b"Content-Length: 3", b"Content-Length: 4"), id="HTP-022-two-lengths"),
        pytest.param((b"Content-Length: 3", b"Content-Length: 3"), id="HTP-022-one-length-twice"),
        pytest.param((b"Content-Length: 3, 4",), id="HTP-022-list-of-lengths"),
        pytest.param((b"Content-Length: -1",), id="HTP-022-negative-length"),
        pytest.param((b"Content-Length: +3",), id="HTP-022-signed-length"),
        pytest.param((b"Content-Length: 0x3",), id="HTP-022-hexadecimal-length"),
        pytest.param((b"Content-Length: 3 3",), id="HTP-022-length-with-a-space"),
        pytest.param((b"Content-Length: 99999999999999999999999",), id="HTP-022-huge-length"),
        pytest.param((b"Content-Length: 3", b"Transfer-Encoding: chunked"), id="HTP-022-cl-te"),
        pytest.param((b"Transfer-Encoding: chunked", b"Content-Length: 3"), id="HTP-022-te-cl"),
        pytest.param((b"Transfer-Encoding: xchunked",), id="HTP-022-unknown-coding"),
        pytest.param((b"Transfer-Encoding: chunked, identity",), id="HTP-022-chunked-is-not-last"),
        pytest.param((b"Transfer-Encoding: chunked", b"Transfer-Encoding: x"), id="HTP-022-two-codings"),
        pytest.param((b"Transfer-Encoding : chunked",), id="HTP-022-space-before-the-colon"),
        pytest.param((b"Transfer-Encoding:\x0bchunked",), id="HTP-022-vertical-tab"),
        pytest.param((b"X: a\r\n Transfer-Encoding: chunked",), id="HTP-022-folded-line"),
        pytest.param((b"X: a\nTransfer-Encoding: chunked",), id="HTP-022-bare-line-feed"),
        pytest.param((b"X: a\rTransfer-Encoding: chunked",), id="HTP-022-bare-carriage-return"),
        pytest.param((b"X: a\0b",), id="HTP-022-nul"),
        pytest.param((b"X\0: a",), id="HTP-022-nul-in-a-name"),
        pytest.param((b": a",), id="HTP-022-no-name"),
        pytest.param((b"no colon",), id="HTP-022-no-colon"),
    ],
)
@pytest.mark.contract("D-20/one-reading")
def test_a_request_with_an_ambiguous_end_is_refused_with_what_follows(
    service: Service, shop: Shop, headers: tuple[bytes, ...]
) -> None:
    answer = service.raw(get(shop, *headers, body=b"0\r\n\r\n" + SMUGGLED))

    assert statuses(service.raw(get(shop))) == [200]
    assert statuses(answer) == [400]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"5\r\nhelloX\r\n0\r\n\r\n", id="HTP-022-chunk-longer-than-said"),
        pytest.param(b"g\r\nhello\r\n0\r\n\r\n", id="HTP-022-chunk-size-no-number"),
        pytest.param(b"-5\r\nhello\r\n0\r\n\r\n", id="HTP-022-chunk-size-negative"),
        pytest.param(b"0x5\r\nhello\r\n0\r\n\r\n", id="HTP-022-chunk-size-prefixed"),
        pytest.param(b"fffffffffffffffffffff\r\nhello\r\n0\r\n\r\n", id="HTP-022-chunk-size-huge"),
        pytest.param(b"5\nhello\n0\n\n", id="HTP-022-chunk-line-feeds"),
        pytest.param(b"5\r\nhello\n0\r\n\r\n", id="HTP-022-chunk-end-line-feed"),
    ],
)
def test_a_broken_chunk_ends_the_connection(service: Service, body: bytes) -> None:
    head = CALLBACK + b"Host: localhost\r\nTransfer-Encoding: chunked\r\n" + FORM + b"\r\n"

    honest = service.raw(head.replace(b"Host", b"Connection: close\r\nHost") + b"5\r\nstate\r\n0\r\n\r\n")
    answer = service.raw(head + body + SMUGGLED)

    assert statuses(honest) == [400]
    assert b"parameter_missing" in honest
    assert statuses(answer) == [400]
    assert b"parameter_missing" not in answer


@pytest.mark.row("HTP-022")
def test_bytes_beyond_the_content_length_are_a_new_request(service: Service, shop: Shop) -> None:
    keep = get(shop, b"Content-Length: 0").replace(b"Connection: close\r\n", b"")

    assert statuses(service.raw(keep + SMUGGLED)) == [200, 404]
    assert statuses(service.raw(keep + b"rubbish\r\n\r\n")) == [200, 400]


@pytest.mark.row("HTP-022")
def test_a_broken_request_after_a_good_one_leaves_no_traceback(service: Service, shop: Shop) -> None:
    mark = service.process.mark
    keep = get(shop).replace(b"Connection: close\r\n", b"")

    assert statuses(service.raw(keep + b"\x16\x03\x01" * 10))[-1] == 400
    assert statuses(service.raw(get(shop))) == [200]
    assert "Invalid HTTP request" in service.logged("Invalid HTTP request", since=mark)
    assert "Traceback" not in service.process.output(mark)


@pytest.mark.row("HTP-005")
@pytest.mark.parametrize(
    "line",
    [b"nonsense", b"GET", b"GET / HTTP/1.1 more", b"\x16\x03\x01\x02"],
)
def test_an_invalid_request_line_is_400_and_names_no_software(service: Service, line: bytes) -> None:
    answer = service.raw(line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")

    assert statuses(answer) == [400]
    assert not [word for word in (b"uvicorn", b"python", b"traceback", b"litestar") if word in answer.lower()]


@pytest.mark.parametrize(
    "hosts",
    [
        pytest.param((), id="HTP-040-none"),
        pytest.param((b"Host: localhost", b"Host: evil.test"), id="HTP-040-two"),
        pytest.param((b"Host: localhost", b"Host: localhost"), id="HTP-040-one-twice"),
        pytest.param((b"Host: localhost evil.test",), id="HTP-040-space"),
        pytest.param((b"Host: localhost@evil.test",), id="HTP-040-userinfo"),
        pytest.param((b"Host: localhost/evil.test",), id="HTP-040-path"),
        pytest.param((b"Host: localhost\\evil.test",), id="HTP-040-backslash"),
        pytest.param((b"Host: l\xc3\xb6calhost",), id="HTP-040-not-ascii"),
    ],
)
@pytest.mark.contract("D-20/one-reading")
def test_a_request_has_exactly_one_host(service: Service, shop: Shop, hosts: tuple[bytes, ...]) -> None:
    line = b"GET %s HTTP/1.1" % shop.path.encode()

    answers = [
        service.raw(b"\r\n".join([line, *given, b"Connection: close", b"", b""]))
        for given in ((b"Host: localhost:8800",), (b"Host: [::1]:8800",), hosts)
    ]

    assert [statuses(answer) for answer in answers] == [[200], [200], [400]]


@pytest.mark.row("HTP-040")
def test_http_1_0_needs_no_host_and_may_not_have_two(service: Service, shop: Shop) -> None:
    line = b"GET %s HTTP/1.0\r\n" % shop.path.encode()

    assert statuses(service.raw(line + b"\r\n")) == [200]
    assert statuses(service.raw(line + b"Host: a\r\nHost: b\r\n\r\n")) == [400]


UPGRADE = {
    b"Host": b"localhost",
    b"Connection": b"Upgrade",
    b"Upgrade": b"websocket",
    b"Sec-WebSocket-Key": b"dGhlIHNhbXBsZSBub25jZQ==",
    b"Sec-WebSocket-Version": b"13",
    b"Sec-WebSocket-Protocol": b"wf.v1",
}


def upgrade(
    service: Service, path: bytes = b"/v1/socket", *, version: bytes = b"1.1", **changes: bytes | None
) -> bytes:
    """Request a WebSocket upgrade, and return the head of the response."""
    changed = {name.replace("_", "-").encode(): value for name, value in changes.items()}
    lines = [b"%s: %s" % (name, value) for name, value in {**UPGRADE, **changed}.items() if value is not None]
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as wire:
        wire.sendall(b"\r\n".join([b"GET %s HTTP/%s" % (path, version), *lines, b"", b""]))
        received = b""
        while b"\r\n\r\n" not in received and (chunk := wire.recv(65536)):
            received += chunk
    return received.partition(b"\r\n\r\n")[0]


@pytest.mark.parametrize("told", [b"12", b"8", b"14", b"13, 12", b"", None], ids=repr)
def test_another_version_of_websocket_gets_the_supported_one(service: Service, told: bytes | None) -> None:
    answer = upgrade(service, Sec_WebSocket_Version=told)

    assert statuses(upgrade(service)) == [101]
    assert statuses(answer) == [426]
    assert b"\r\nSec-WebSocket-Version: 13" in answer
    assert b"\r\nUpgrade: websocket" in answer


def test_http_1_0_opens_no_socket(service: Service) -> None:
    assert statuses(upgrade(service, version=b"1.0")) == [400]


@pytest.mark.row("WSK-007")
@pytest.mark.parametrize(
    "path", [b"/v1/socket/", b"/v1/socket2", b"/socket", b"/V1/socket", b"/v1/%73ocket", b"//v1/socket"]
)
def test_a_socket_at_another_path_is_refused(service: Service, path: bytes) -> None:
    assert statuses(upgrade(service, path))[0] in {403, 404}
    assert statuses(upgrade(service)) == [101]
