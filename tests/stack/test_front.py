"""Tests of the front, a proxy in front of the service. Without fault rules, the front must change no traffic."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.http11 import Request, Response

from chatkey_serving.server import Server
from chatkey_serving.site import Site
from chatkey_stack.front.app import Front
from chatkey_stack.front.upstream import Upstream
from chatkey_stack.ports import LOOPBACK, free_ports
from chatkey_stack.tls import trust

HOST = "chat.example:8443"


@dataclass
class Running:
    """A front with a service behind it. The service records the requests."""

    url: str
    control: httpx.AsyncClient
    seen: list[Request]

    async def arm(self, **rule: object) -> None:
        assert (await self.control.post("/lab/faults", json=rule)).status_code == 201

    def open(self) -> connect:
        uri = self.url.replace("http", "ws") + "/v1/socket?a=1"
        return connect(uri, subprotocols=["wf.v1"], origin="https://shop.example", proxy=None)  # type: ignore[arg-type, list-item]


async def answered(connection: ServerConnection) -> None:
    """Send `hello`, and echo every frame. The frame `bye` closes the socket."""
    await connection.send('{"type":"hello"}')
    async for content in connection:
        if content == '{"type":"bye"}':
            await connection.close(4401, "token_expired")
        await connection.send(content)


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    seen: list[Request] = []

    def look(connection: ServerConnection, request: Request) -> Response | None:
        seen.append(request)
        if request.path.startswith("/v1/refused"):
            return connection.respond(HTTPStatus.FORBIDDEN, "no\n")
        if "Upgrade" in request.headers:
            return None
        headers = Headers([("Content-Length", "5"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-Own", "é")])
        return Response(207, "Multi-Status", headers, b"hello")

    async with serve(answered, LOOPBACK, 0, process_request=look, subprotocols=["wf.v1"]) as service:  # type: ignore[list-item]
        port = next(iter(service.sockets)).getsockname()[1]
        async with (
            fronted(f"http://{LOOPBACK}:{port}") as (url, control),
            httpx.AsyncClient(base_url=control, trust_env=False) as asking,
        ):
            yield Running(url, asking, seen)


@asynccontextmanager
async def fronted(service: str) -> AsyncIterator[tuple[str, str]]:
    """Run a front in front of `service`. Yields the address of the front and the address of its control API."""
    port, control = free_ports(2)
    app = Front(Upstream(service, HOST, trust(None)), control)
    server = Server(Site(app=app, has_sockets=True, has_date=False), lambda: None)
    listeners = [socket.create_server((LOOPBACK, number)) for number in (port, control)]
    serving = asyncio.create_task(server.serve(listeners))
    try:
        yield f"http://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{control}"
    finally:
        server.stop()
        await serving


async def get(running: Running, path: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as browser:
        return await browser.get(running.url + path, headers={"Origin": "https://shop.example"})


async def closing(connection: ClientConnection) -> tuple[int, str]:
    """Read a socket until it closes, and return the close code and the reason."""
    with pytest.raises(ConnectionClosed) as closed:
        await drain(connection)
    assert closed.value.rcvd
    return closed.value.rcvd.code, closed.value.rcvd.reason


async def drain(connection: ClientConnection) -> None:
    async for _content in connection:
        pass


async def test_a_request_and_its_answer_pass_unchanged(running: Running) -> None:
    """The front must not change the path, the query, the host name that browsers use, or a header of the response."""
    answer = await get(running, "/v1/a%2Fb?uid=%C3%A9&uid=2")

    (request,) = running.seen
    assert request.path == "/v1/a%2Fb?uid=%C3%A9&uid=2"
    assert (request.headers["Host"], request.headers["Origin"]) == (HOST, "https://shop.example")
    assert (answer.status_code, answer.content) == (207, b"hello")
    assert answer.headers.get_list("set-cookie") == ["a=1", "b=2"]


async def test_frames_pass_both_ways_and_the_close_with_its_code(running: Running) -> None:
    """The service must receive origin, subprotocol and query. The browser must receive the service's close code."""
    async with running.open() as browser:
        assert browser.subprotocol == "wf.v1"
        assert await browser.recv() == '{"type":"hello"}'
        await browser.send(b"\x00\xff")
        assert await browser.recv() == b"\x00\xff"
        await browser.send('{"type":"bye"}')
        assert await closing(browser) == (4401, "token_expired")

    (request,) = running.seen
    assert urlsplit(request.path).query == "a=1"
    assert (request.headers["Host"], request.headers["Origin"]) == (HOST, "https://shop.example")


async def test_a_handshake_that_is_refused_is_refused_with_that_status(running: Running) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(running.url.replace("http", "ws") + "/v1/refused", proxy=None)

    assert refused.value.response.status_code == 403


async def test_an_unreachable_service_is_a_502() -> None:
    (nobody,) = free_ports(1)
    async with fronted(f"http://{LOOPBACK}:{nobody}") as (url, _), httpx.AsyncClient(trust_env=False) as browser:
        answer = await browser.get(f"{url}/v1/x")

    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "front_fault"


async def test_a_rule_sets_the_status_of_a_path_the_given_number_of_times(running: Running) -> None:
    await running.arm(where="/v1/x", action="status", status=503, times=2)

    statuses = [(await get(running, "/v1/x/token")).status_code for _ in range(3)]

    assert statuses == [503, 503, 207]
    (armed,) = (await running.control.get("/lab/faults")).json()["data"]
    assert armed["hits"] == 2


async def test_a_request_that_is_dropped_has_no_answer(running: Running) -> None:
    await running.arm(where="/v1/x", action="drop")

    with pytest.raises(httpx.RemoteProtocolError):
        await get(running, "/v1/x")
    assert (await get(running, "/v1/x")).status_code == 207


@pytest.mark.parametrize("kind", ["hello", "ping"])
async def test_a_frame_of_either_end_ends_the_socket_with_the_code_of_a_rule(running: Running, kind: str) -> None:
    await running.arm(where=kind, action="close", code=1012)

    async with running.open() as browser:
        if kind == "ping":
            await browser.send(json.dumps({"type": kind}))
        assert await closing(browser) == (1012, "front")


@pytest.mark.parametrize(("action", "ending"), [("status", 503), ("close", 1013)])
async def test_a_rule_applies_to_a_handshake(running: Running, action: str, ending: int) -> None:
    await running.arm(where="/v1/socket", action=action)

    if action == "status":
        with pytest.raises(InvalidStatus) as refused:
            await running.open()
        assert refused.value.response.status_code == ending
    else:
        async with running.open() as browser:
            assert (await closing(browser))[0] == ending
    assert running.seen == []
