"""Tests of the lab's API (D-14)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from chatkey_server.storage import agents
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

UID = "v_NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


async def data_of(lab: ServerClient, method: str, path: str, body: object = None) -> Any:
    answer = await lab.request(method, path, json=body)
    assert answer.is_success, answer.text
    assert set(answer.json()) == {"data"}
    return answer.json()["data"]


async def kinds(lab: ServerClient, query: str = "") -> list[str]:
    return [event["kind"] for event in (await data_of(lab, "GET", f"/lab/events{query}"))["events"]]


@pytest.mark.contract("D-13/clock")
async def test_the_clock_is_read_moved_and_reset(lab: ServerClient) -> None:
    before = (await data_of(lab, "GET", "/lab/clock"))["now"]

    moved = (await data_of(lab, "POST", "/lab/clock", {"advance": 90.5}))["now"]

    assert moved == before + 90.5 == lab.services.clock()
    assert (await data_of(lab, "POST", "/lab/reset"))["now"] == before


@pytest.mark.parametrize(
    "body", [{"advance": -1}, {"advance": "soon"}, {"advance": 1e12}, {}, {"advance": 1, "x": 1}, []]
)
async def test_an_impossible_move_of_the_clock_is_refused_with_the_reason(lab: ServerClient, body: object) -> None:
    answer = await lab.post("/lab/clock", json=body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "parameter_invalid")
    assert lab.services.clock.offset == 0


@pytest.mark.parametrize("body", ['{"a":' * 13_000, "[" * 65_000, '{"advance":' + "[" * 30_000 + "]" * 30_000 + "}"])
async def test_a_body_that_is_nested_too_deeply_is_refused(lab: ServerClient, body: str) -> None:
    answer = await lab.post("/lab/clock", content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "parameter_invalid")
    assert lab.services.clock.offset == 0


@pytest.mark.contract("D-14/providers")
async def test_a_test_gets_a_provider_of_its_own_that_works_at_once(lab: ServerClient) -> None:
    own = {"key_source": "own", "client_id": "id", "client_secret": "secret"}

    first = await data_of(lab, "POST", "/lab/providers", {"domains": ["shop.test:8443"], "socials": {"google": own}})
    second = await data_of(lab, "POST", "/lab/providers", {})

    assert first["id"] != second["id"]
    assert len(first["secret_key"]) >= 43
    configuration = (await lab.get(f"/v1/public/provider/{first['id']}")).json()["data"]
    assert configuration["auth"]["oauth_providers"] == ["google"]
    view = await lab.services.providers.get(first["id"])
    assert "https://shop.test:8443" in view.origins
    assert view.secrets.current.decode() == first["secret_key"]


async def test_a_provider_may_be_given_its_id_secret_and_settings(lab: ServerClient) -> None:
    wanted = {"id": "mine", "secret_key": "s" * 40, "name": "Mine", "ui_locale": "de", "restrict_socket_origins": True}

    made = await data_of(lab, "POST", "/lab/providers", wanted)

    view = await lab.services.providers.get("mine")
    assert made == {"id": "mine", "secret_key": "s" * 40}
    assert view.restrict_socket_origins
    assert (await lab.get("/v1/public/provider/mine")).json()["data"]["ui"]["locale"] == "de"


async def test_a_refused_provider_leaves_nothing_behind(lab: ServerClient) -> None:
    refused = await lab.post("/lab/providers", json={"id": "mine", "socials": {"google": {"key_source": "own"}}})

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "parameter_invalid")
    assert (await lab.get("/v1/public/provider/mine")).status_code == 404


@pytest.mark.parametrize(
    "body", [{"nmae": "x"}, {"domains": "shop.test"}, {"socials": {"google": {"key_source": "x"}}}]
)
async def test_a_member_that_is_misspelt_or_of_another_kind_is_refused(lab: ServerClient, body: object) -> None:
    answer = await lab.post("/lab/providers", json=body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "parameter_invalid")


async def test_service_owned_keys_serve_every_provider_that_uses_them(lab: ServerClient) -> None:
    await data_of(lab, "POST", "/lab/applications", {"social": "github", "client_id": "id", "client_secret": "secret"})

    made = await data_of(lab, "POST", "/lab/providers", {"socials": {"github": {}}})

    view = await lab.services.providers.get(made["id"])
    application = view.socials["github"].application
    assert view.socials["github"].key_source == "service"
    assert application is not None
    assert application.client_id == "id"


async def test_an_agent_may_be_for_some_providers_only(lab: ServerClient) -> None:
    await data_of(lab, "POST", "/lab/providers", {"id": "mine"})
    ann = {"username": "ann", "password": "a long password", "providers": ["mine"]}

    await data_of(lab, "POST", "/lab/agents", ann)
    refused = await lab.post("/lab/agents", json={**ann, "username": "bob", "providers": ["nobody"]})

    assert await agents.listed() == [("ann", ["mine"])]
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "provider_unknown")


@pytest.mark.contract("D-14/feed")
async def test_the_feed_holds_what_happened_in_order_and_is_read_from_where_one_stopped(lab: ServerClient) -> None:
    await lab.get("/v1/public/provider/none/member/token?auth=x&jkt=x")
    first = await data_of(lab, "GET", "/lab/events")
    await lab.get("/v1/public/provider/none")

    after = await data_of(lab, "GET", f"/lab/events?after={first['last']}&kind=http.answered")

    assert [event["kind"] for event in first["events"]][-2:] == ["request.refused", "http.answered"]
    assert [(event["facts"]["path"], event["facts"]["status"]) for event in after["events"]] == [
        ("/v1/public/provider/none", 404)
    ]
    assert after["events"][0]["n"] == after["last"] > first["last"]
    assert after["events"][0]["at"] == lab.services.clock()


async def test_the_feed_is_filtered_by_kind_and_by_family(lab: ServerClient) -> None:
    for kind in ("socket.ready", "socket.closed", "oauth.callback"):
        structlog.get_logger().info(kind)

    assert await kinds(lab, "?kind=socket.ready") == ["socket.ready"]
    assert await kinds(lab, "?kind=socket.") == ["socket.ready", "socket.closed"]


@pytest.mark.contract("D-14/feed")
async def test_the_feed_can_be_waited_on(lab: ServerClient) -> None:
    waiting = asyncio.create_task(kinds(lab, "?kind=socket.ready&wait=10"))
    for _ in range(20):
        await asyncio.sleep(0)

    structlog.get_logger().info("socket.refused")
    structlog.get_logger().info("socket.ready")

    assert await asyncio.wait_for(waiting, PATIENCE) == ["socket.ready"]


async def test_waiting_ends_after_the_time_given(lab: ServerClient) -> None:
    assert await kinds(lab, "?kind=never&wait=0.01") == []


@pytest.mark.contract("D-14/feed")
async def test_the_feed_holds_no_secret_and_no_token(lab: ServerClient) -> None:
    made = await data_of(lab, "POST", "/lab/providers", {})
    answer = await lab.get(f"/v1/public/provider/{made['id']}/token?uid={UID}")
    token = answer.json()["data"]["auth_token"]
    await lab.get(f"/v1/public/provider/{made['id']}/member/token?auth={token}&jkt={UID[2:]}")
    structlog.get_logger().info("x", note=f"a {token}", token=made["secret_key"])

    feed = (await lab.get("/lab/events")).text

    assert "token.refused" in feed
    assert token not in feed
    assert made["secret_key"] not in feed


async def test_a_reset_forgets_events_rules_and_cached_providers_but_not_the_numbers(lab: ServerClient) -> None:
    await data_of(lab, "POST", "/lab/providers", {"id": "mine"})
    await lab.get("/v1/public/provider/mine")
    await data_of(lab, "PATCH", "/lab/providers/mine", {"ui_colour": "#000000"})
    await data_of(lab, "POST", "/lab/faults", {"where": "/v1", "action": "status"})
    last = (await data_of(lab, "GET", "/lab/events"))["last"]

    await data_of(lab, "POST", "/lab/reset")

    assert await data_of(lab, "GET", "/lab/faults") == []
    assert await data_of(lab, "GET", "/lab/events") == {"events": [], "last": last}
    assert (await lab.get("/v1/public/provider/mine")).json()["data"]["ui"]["colour"] == "#000000"


async def test_unknown_lab_paths_and_methods_answer_like_all_others(lab: ServerClient) -> None:
    unknown, wrong = await lab.get("/lab/none"), await lab.put("/lab/clock")

    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")
    assert "POST" in wrong.headers["allow"]


async def test_a_reset_lets_agents_sign_in_again_who_tried_too_often(lab: ServerClient) -> None:
    async def try_to_sign_in() -> int:
        form = {"username": "adam", "password": ""}
        answer = await lab.post("/agent/sign-in", data=form, headers={"Origin": "http://localhost:8800"})
        return answer.status_code

    before = [await try_to_sign_in() for _ in range(11)]
    await data_of(lab, "POST", "/lab/reset")

    assert (before[-1], await try_to_sign_in()) == (429, 401)
