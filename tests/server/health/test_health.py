"""Tests of the endpoints for operators: liveness, readiness of each dependency, and metrics without names of people."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from chatkey_protocol.codes import Code
from chatkey_server import logs
from chatkey_server.health import readiness
from chatkey_server.identity.errors import Refused
from chatkey_server.storage import migrate

Fixture = Any

TOKEN = "a-token-for-prometheus"
KEYS = ("m" * 32,)
PARTS = ("database", "migrations")
UID = "v_NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


async def ready(client: Fixture, query: str = "") -> tuple[int, Any]:
    answer = await client.get(f"/health/ready{query}")
    body = answer.json()
    return answer.status_code, body["data"] or body["error"]["message"]


async def test_liveness_does_not_ask_the_database(client: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail() -> list[str]:
        raise AssertionError("asked the database")

    monkeypatch.setattr(migrate, "pending", fail)

    answer = await client.get("/health/live")

    assert (answer.status_code, answer.json()) == (200, {"data": {"process": "ok"}})
    assert answer.headers["cache-control"] == "no-store"


async def test_a_server_without_redis_is_ready_with_its_database(client: Fixture) -> None:
    assert await ready(client) == (200, {"process": "ok", "database": "ok", "migrations": "ok"})


async def test_a_server_that_is_not_ready_names_the_missing_parts(
    make_client: Fixture, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away() -> list[str]:
        raise Refused(Code.UNAVAILABLE, "The database cannot be reached; try again in a moment.")

    async def behind() -> list[str]:
        return ["a migration"]

    monkeypatch.setattr(readiness, "FRESH_SECONDS", 0.0)
    async with make_client(redis_url=redis_url, master_key=KEYS) as client:
        everything = {"process": "ok", "database": "ok", "migrations": "ok", "redis": "ok"}
        assert await ready(client) == (200, everything)
        monkeypatch.setattr(migrate, "pending", away)
        assert await ready(client) == (503, "Not ready: database away, migrations unknown.")
        monkeypatch.setattr(migrate, "pending", behind)
        assert await ready(client) == (503, "Not ready: migrations missing.")
        client.services.sockets.is_leaving = True
        assert await ready(client) == (503, "Not ready: process leaving, migrations missing.")


async def test_without_redis_the_server_is_not_ready_unless_told_to_ignore_it(make_client: Fixture) -> None:
    """`exclude=redis` lets a load balancer keep using the processes when all of them have lost Redis."""
    with capture_logs():
        async with make_client(redis_url="unix:///nowhere/redis.sock", master_key=KEYS) as client:
            assert await ready(client) == (503, "Not ready: redis away.")
            status, states = await ready(client, "?exclude=redis")
            assert (status, states["redis"]) == (200, "away")
            assert await ready(client, "?exclude=luck") == (
                400,
                "exclude must be one of process, database, migrations, redis.",
            )


async def test_repeated_readiness_requests_cost_one_database_query(
    client: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    async def noted() -> list[str]:
        nonlocal asked
        asked += 1
        return []

    monkeypatch.setattr(migrate, "pending", noted)
    monkeypatch.setattr(readiness, "FRESH_SECONDS", 3600.0)

    assert {(await ready(client))[0] for _ in range(20)} == {200}
    assert asked == 1


class TestMetrics:
    async def test_without_a_metrics_token_there_are_no_metrics(self, client: Fixture) -> None:
        assert (await client.get("/metrics")).status_code == 404

    @pytest.mark.parametrize("shown", ["", f"Basic {TOKEN}", "Bearer another-token", f"Bearer {TOKEN}x"])
    async def test_the_metrics_need_the_token(self, make_client: Fixture, shown: str) -> None:
        async with make_client(metrics_token=TOKEN) as client:
            refused = await client.get("/metrics", headers={"Authorization": shown} if shown else {})
            read = await client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})

        assert (refused.status_code, refused.json()["error"]["code"]) == (401, Code.SIGN_IN_REQUIRED)
        assert refused.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in refused.text
        assert (read.status_code, read.headers["content-type"].partition(";")[0]) == (200, "text/plain")

    async def test_requests_are_counted_by_route_and_never_by_the_path_that_a_client_chooses(
        self, make_client: Fixture
    ) -> None:
        async with make_client(metrics_token=TOKEN) as client:
            before = await numbers(client)  # requests of other tests in this process were counted too
            for number in range(30):
                await client.get(f"/v1/public/provider/none{number}")
                await client.get(f"/{number}")
                await client.request(f"ODD{number}", f"/v1/public/provider/none{number}/token")
            await client.get("/admin/public/meta/")
            after = await numbers(client)
            changed = {name for name, value in after.items() if value != before.get(name)}
            counted = {name for name in changed if name.startswith("chatkey_http_seconds_count")}

        for route, status in (("/v1/public/provider/{id}", "4xx"), ("other", "4xx"), ("/admin", "2xx")):
            assert f'chatkey_http_seconds_count{{route="{route}",status="{status}"}}' in counted
        templates = {route.path_format for route in client.app.routes} | {"other"}
        assert {re.findall('route="(.+)",', name)[0] for name in counted} <= templates

    async def test_a_scrape_says_which_parts_are_ready(
        self, make_client: Fixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def behind() -> list[str]:
            return ["a migration"]

        monkeypatch.setattr(readiness, "FRESH_SECONDS", 0.0)
        async with make_client(metrics_token=TOKEN) as client:
            well = await numbers(client)
            monkeypatch.setattr(migrate, "pending", behind)
            badly = await numbers(client)

        states = [[found[f'chatkey_ready{{part="{part}"}}'] for part in PARTS] for found in (well, badly)]
        assert states == [[1, 1], [1, 0]]

    async def test_the_metrics_count_events_and_contain_no_names(
        self, make_client: Fixture, open_socket: Fixture
    ) -> None:
        async with make_client(metrics_token=TOKEN) as client:
            before = await numbers(client)
            await client.get(f"/v1/public/provider/none/token?uid={UID}")
            socket = await open_socket(client, "/v1/socket", subprotocols=["wf.v1"])
            await socket.next()
            during = await numbers(client)
            await socket.ask({"type": "nothing"})
            after = await numbers(client)

        assert during['chatkey_sockets{peer="customer"}'] - before.get('chatkey_sockets{peer="customer"}', 0) == 1
        for name in (
            'chatkey_refusals_total{code="provider_unknown"}',
            'chatkey_refusals_total{code="frame_invalid"}',
            'chatkey_connects_total{result="frame_invalid"}',
            'chatkey_database_wait_seconds_count{kind="read"}',
        ):
            assert after[name] > before.get(name, 0), name
        assert UID not in str(after)


async def numbers(client: Fixture) -> dict[str, float]:
    answer = await client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    lines = (line.rpartition(" ") for line in answer.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


class TestRequestId:
    """Each log line of a request must carry the request's id. The response must carry the same id."""

    async def test_an_answer_and_its_log_lines_have_the_same_request_id(
        self, client: Fixture, log_lines: Fixture
    ) -> None:
        answers = [await client.get(f"/v1/public/provider/none/token?uid={UID}") for _ in range(2)]

        ids = [answer.headers["x-request-id"] for answer in answers]
        refusals = [line["request"] for line in log_lines() if line["event"] == "request.refused"]
        assert refusals == ids
        assert len(set(ids)) == 2

    async def test_a_request_id_from_outside_is_not_used(self, client: Fixture) -> None:
        answer = await client.get("/health/live", headers={"X-Request-Id": "forged"})

        assert answer.headers.get_list("x-request-id") != ["forged"]

    async def test_a_socket_keeps_its_request_id_until_its_end(
        self, client: Fixture, open_socket: Fixture, log_lines: Fixture
    ) -> None:
        socket = await open_socket(client, "/v1/socket")
        await socket.next()
        (peer,) = client.services.sockets._open
        peer.end(Refused(Code.RESTARTING, "now"))
        await socket.next()

        (refusal,) = [line for line in log_lines() if line["event"] == "socket.refused"]
        assert len(refusal["request"]) == 16


@pytest.fixture
def log_lines() -> Iterator[Fixture]:
    """Return a function that reads all log lines since the test began."""
    stream = io.StringIO()
    logs.configure("debug", stream=stream)
    yield lambda: [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]
    logs.configure("debug", stream=io.StringIO())
