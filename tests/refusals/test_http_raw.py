"""Runs the rows of `tests/serving` against our service, whose requests and sockets other applications answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.serving.asking import answers, expected, statuses, with_200
from tests.serving.http_rows import BAD, GROUPS, Group
from tests.serving.socket_rows import FRAMES, HANDSHAKE, HANDSHAKES, OPENED, UPGRADE_REQUIRED, SocketRow, heard_in

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service

SOFTWARE = (b"litestar", b"uvicorn", b"starlette", b"python", b"traceback", b"httptools", b"msgspec")
HERE = b"/v1/socket"


@pytest.mark.contract("D-20/one-reading")
@pytest.mark.parametrize("group", GROUPS, ids=[group.name for group in GROUPS])
async def test_the_service_reads_a_request_in_one_way_or_refuses_it(service: Service, group: Group) -> None:
    received = await answers(service.port, [row.sent for row in group.rows])

    answered = {row.id: with_200(statuses(each)) for row, each in zip(group.rows, received, strict=True)}
    assert answered == expected(group)
    assert [word for word in (*SOFTWARE, b"evil.test") if any(word in each.lower() for each in received)] == []


@pytest.mark.parametrize("group", HANDSHAKES, ids=[group.name for group in HANDSHAKES])
async def test_the_service_opens_a_socket_only_after_a_valid_handshake(service: Service, group: Group) -> None:
    rows = [row for row in group.rows if row.allowed[0] in {OPENED, BAD, UPGRADE_REQUIRED}]

    received = await answers(service.port, [row.sent.replace(b"/row", HERE) for row in rows])

    answered = {row.id: statuses(each) for row, each in zip(rows, received, strict=True)}
    assert answered == {row.id: row.allowed[0] for row in rows}


@pytest.mark.parametrize("rows", FRAMES.values(), ids=FRAMES.keys())
async def test_the_service_ends_a_socket_for_a_frame_that_is_not_valid(service: Service, rows: list[SocketRow]) -> None:
    wrong = [row for row in rows if len(row.allowed[0]) == 1]
    opening = HANDSHAKE.replace(b"/row", HERE) + b"\r\n"

    received = await answers(service.port, [row.sent for row in wrong], opening)

    heard = {row.id: heard_in(each)[1:] for row, each in zip(wrong, received, strict=True)}
    assert heard == {row.id: row.allowed[0] for row in wrong}


@pytest.mark.row("WSK-007")
async def test_there_is_no_socket_at_another_path(service: Service) -> None:
    paths = [b"/v1/socket/", b"/v1/socket2", b"/socket", b"/V1/socket", b"/v1/%73ocket", b"//v1/socket"]

    received = await answers(service.port, [HANDSHAKE.replace(b"/row", path) + b"\r\n" for path in paths])

    assert {statuses(each) for each in received} <= {(403,), (404,)}


def test_an_invalid_request_is_logged_without_a_traceback(service: Service) -> None:
    mark = service.process.mark

    service.raw(b"no request\r\n\r\n")

    assert "Invalid HTTP request" in service.logged("Invalid HTTP request", since=mark)
    assert "Traceback" not in service.process.output(mark)
