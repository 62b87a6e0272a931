"""Tests of the fake's HTTP connections, with raw bytes over a socket."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.serving.asking import answers, expected, outcomes, statuses, with_200
from tests.serving.http_rows import GROUPS, WITHOUT_SOCKETS, Group

from chatkey_oauth.app import BODY_BYTES, MOST_BYTES
from chatkey_oauth.serve import Listening
from chatkey_oauth.settings import Settings

DISCOVERY = b"GET /oidc/.well-known/openid-configuration HTTP/1.1\r\nHost: fake\r\n"
LAB = b"GET /lab/clock HTTP/1.1\r\nHost: localhost\r\n"
TOKEN = b"POST /oidc/token HTTP/1.1\r\nHost: fake\r\n"
LAST = b"Connection: close\r\n\r\n"
EVERYWHERE = [*GROUPS, WITHOUT_SOCKETS]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a fake with a lab."""
    with Listening("127.0.0.1", 0) as listening, listening.serving(Settings(lab=True, port=listening.port)):
        yield listening.port


@pytest.mark.parametrize("group", EVERYWHERE, ids=[group.name for group in EVERYWHERE])
async def test_the_fake_answers_each_row(port: int, group: Group) -> None:
    answered = await outcomes(port, group)

    assert {row: with_200(outcome) for row, outcome in answered.items()} == expected(group)


async def test_requests_around_a_request_of_the_lab_are_answered_in_order(port: int) -> None:
    (received,) = await answers(port, [DISCOVERY + b"\r\n" + LAB + b"\r\n" + DISCOVERY + LAST])

    assert statuses(received) == (200, 200, 200)
    assert [b"issuer" in part for part in received.split(b"HTTP/1.1 ")[1:]] == [True, False, True]


async def test_a_client_that_waits_is_asked_for_the_body(port: int) -> None:
    (received,) = await answers(port, [TOKEN + b"Expect: 100-continue\r\nContent-Length: 1\r\n" + LAST + b"x"])

    assert received.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 ")


@pytest.mark.parametrize(("length", "status"), [(BODY_BYTES, 401), (BODY_BYTES + 1, 413), (MOST_BYTES, 413)])
async def test_a_large_body_is_refused(port: int, length: int, status: int) -> None:
    (received,) = await answers(port, [TOKEN + b"Content-Length: %d\r\n" % length + LAST + b"x" * length])

    assert statuses(received) == (status,)


async def test_head_gets_the_headers_of_get(port: int) -> None:
    got, asked = await answers(port, [DISCOVERY + LAST, DISCOVERY.replace(b"GET", b"HEAD") + LAST])

    assert got.startswith(asked)
    assert asked.endswith(b"\r\n\r\n")


async def test_responses_carry_the_date(port: int) -> None:
    (received,) = await answers(port, [DISCOVERY + LAST])

    (date,) = [line for line in received.decode().split("\r\n") if line.startswith("date: ")]
    assert date.endswith(" GMT")
    assert len(date) == len("date: Thu, 26 Nov 2026 22:34:20 GMT")
