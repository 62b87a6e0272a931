"""Tests faults of the socket: dead, slow, silent or hostile connections, refusals, proxies that block WebSockets."""

import json
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from playwright.sync_api import BrowserContext, Route, WebSocketRoute, expect

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import DEBUG_POLL_MS
from chatkey_e2e.plugin import Advance
from chatkey_e2e.scenarios.lines import ANY_ORIGIN, SLOW, Line, portal, wait_for_hit, wait_out
from chatkey_e2e.witness import Witness
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.long

OPEN_AND_SHUT = "(address) => new Promise((resolve) => { new WebSocket(address).onclose = () => resolve(); })"

A_LONG_HANDSHAKE = 30
"""Seconds; longer than the ten that a step of a scenario may take."""

BEAT = 26
"""Seconds until the next ping is due."""


@pytest.mark.contract("D-10/reconnect")
def test_a_socket_that_is_open_and_dead_is_replaced(
    page_time: Advance, context: BrowserContext, shop: ShopPage
) -> None:
    """F090: a dead socket must be replaced 10 s after an unanswered ping, or 3 s after the browser is online again."""
    line = Line(context)
    widget = shop.open()

    line.cut()
    with widget.expect_event("socket:ready"):
        page_time(BEAT)
        page_time(10)
        page_time(2)
    widget.send("after a silent ping")
    line.cut()
    context.set_offline(True)
    with widget.expect_event("socket:ready"):
        context.set_offline(False)
        page_time(4)
        page_time(2)
    widget.send("after a moment offline")

    assert widget.events("socket:lost") == [{"why": "mute"}, {"why": "mute"}]
    assert widget.debug()["counters"]["socket:opening"] == 3


@pytest.mark.needs("clock")
@pytest.mark.contract("D-10/auth-timeout", "D-10/nonce")
def test_three_seconds_on_every_frame_are_borne(advance: Advance, shop: ShopPage) -> None:
    """F095: if every frame takes three seconds, the first attempt must still connect within the nonce's ten seconds."""
    shop.page.add_init_script(SLOW)

    shop.visit()
    for frame in range(1, 4):
        shop.page.wait_for_function("(count) => window.delayed >= count", arg=frame)
        advance(shop.page.evaluate("() => Math.max(0, window.due - Date.now())") / 1000)
    shop.widget.wait_ready()

    counters = shop.widget.debug()["counters"]
    assert (counters["socket:opening"], counters["socket:proof"], counters["socket:ready"]) == (1, 1, 1)


@pytest.mark.needs("faults")
@pytest.mark.contract("D-10/reconnect")
def test_a_server_that_falls_silent_after_the_proof_is_left(page_time: Advance, shop: ShopPage, stack: Stack) -> None:
    """F139: if no `ready` arrives within ten seconds after the proof, the widget must reconnect."""
    stack.service_lab.arm(where="ready", action="drop")

    shop.visit()
    wait_for_hit(shop.page, stack.service_lab)
    page_time(10)
    shop.widget.wait_for_event("socket:waiting")
    page_time(1)
    shop.widget.wait_ready()

    assert shop.widget.events("socket:lost") == [{"why": "timeout"}]
    assert shop.widget.debug()["counters"]["socket:opening"] == 2


@pytest.mark.needs("faults")
@pytest.mark.contract("D-10/reconnect", "D-12/always-chat")
def test_a_handshake_that_hangs_does_not_keep_the_next_one_waiting(
    page_time: Advance, shop: ShopPage, stack: Stack
) -> None:
    """F092: a hanging handshake must not block the next one. Browsers open only one socket per address at a time."""
    stack.service_lab.arm(where="/v1/socket", action="delay", seconds=A_LONG_HANDSHAKE)

    shop.visit()
    shop.widget.wait_for_event("socket:opening")
    page_time(10)
    shop.widget.wait_for_event("socket:waiting")
    page_time(5)
    shop.widget.wait_ready()

    assert shop.widget.events("socket:lost") == [{"why": "timeout"}]
    assert shop.widget.debug()["counters"]["socket:opening"] == 2


@pytest.fixture(params=[pytest.param("400", marks=pytest.mark.needs("faults")), "portal"])
def no_socket(
    request: pytest.FixtureRequest, stack: Stack, business: Business, context: BrowserContext
) -> Iterator[None]:
    """A proxy that does not support WebSockets, or a portal that answers the handshake with a page."""
    assert stack.certificates is not None
    with portal(stack.certificates) if request.param == "portal" else nullcontext() as elsewhere:

        def lead_astray(route: Route) -> None:
            body = stack.get(route.request.url.partition(stack.service.browser_url)[2]).json()
            if elsewhere:
                body["data"]["socket_uri"] = elsewhere
            route.fulfill(json=body, headers=ANY_ORIGIN)

        context.route(f"**{business.visitor_token_path}**", lead_astray)
        if not elsewhere:
            stack.service_lab.arm(where="/v1/socket", action="status", status=400, times=None)
        yield


@pytest.mark.contract("D-10/reconnect", "D-12/no-hammering")
@pytest.mark.usefixtures("no_socket")
def test_a_proxy_that_lets_no_socket_through_is_told_and_outwaited(
    page_time: Advance, context: BrowserContext, shop: ShopPage, stack: Stack
) -> None:
    """F092: if a proxy blocks sockets, the widget must report it, wait longer each time, and connect later."""
    shop.visit()
    widget = shop.widget
    for attempt in range(1, 4):
        widget.wait_for_event("socket:waiting", count=attempt)
        wait_out(widget, page_time)
    widget.wait_for_error("socket_unreachable")

    expect(widget.open().get_by_role("alert")).to_contain_text("The connection was lost. Reconnecting…")
    assert {event["code"] for event in widget.events("socket:closed")} == {1006}
    context.unroute_all()
    stack.service_lab.disarm()
    context.set_offline(True)
    context.set_offline(False)
    page_time(2)
    widget.send("through at last")
    expect(widget.panel.get_by_role("alert")).to_be_hidden()


HOSTILE: tuple[str | bytes, ...] = (
    b"\x00\xff",
    "",
    "not JSON",
    "[" * 100_000,
    '{"a":' * 100_000,
    "9" * 10_000,
    '"' + "x" * 1_000_000 + '"',
    json.dumps({"type": "hello", "nonce": 5, "server_time": "now", "ping": None}),
)


@pytest.mark.contract("D-10/reconnect", "D-12/always-chat")
def test_frames_that_no_server_sends_are_survived(
    page_time: Advance, context: BrowserContext, business: Business, shop: ShopPage, witness: Witness
) -> None:
    """F141: binary, malformed or huge frames must end the connection. The widget must then reconnect."""
    hostile = list(HOSTILE)

    def connect(page: WebSocketRoute) -> None:
        page.connect_to_server()
        if hostile:
            page.send(hostile.pop(0))

    context.route_web_socket(business.socket_uri, connect)
    shop.visit()
    for attempt in range(1, len(HOSTILE) + 1):
        shop.widget.wait_for_event("socket:waiting", count=attempt)
        wait_out(shop.widget, page_time)
    shop.widget.wait_ready()
    shop.widget.send("still alive")

    told = [error["code"] for error in shop.widget.events("error") if error["phase"] == "socket"]
    assert told.count("frame_unreadable") == len(HOSTILE)
    assert [line for line in witness.said if "Traceback" in line or "RangeError" in line] == []


@pytest.mark.needs("faults")
@pytest.mark.contract("D-12/no-hammering")
def test_a_service_that_refuses_everyone_is_left_alone(
    page_time: Advance, business: Business, shop: ShopPage, stack: Stack
) -> None:
    """F138: if the service refuses everyone, the widget must stop after two `getToken` calls and four sockets."""
    shop.open()
    shop.sign_in()
    calls = business.token_calls
    stack.service_lab.arm(where="connect", action="close", code=4401, times=None)

    shop.visit()
    widget = shop.widget
    shop.page.wait_for_function("() => window.Service?.debug().stage === 'stopped'", polling=DEBUG_POLL_MS)
    for _ in range(10):
        page_time(30)
    left_alone = widget.debug()["counters"]["socket:opening"]

    expect(widget.open().get_by_role("status").filter(has_text="Not available")).to_be_visible()
    expect(widget.panel.get_by_role("alert")).to_contain_text("The chat is not available.")
    assert business.token_calls - calls <= 2
    assert left_alone <= 4
    assert widget.debug()["counters"]["socket:opening"] <= left_alone + 2  # opening the panel causes a new try
    assert widget.debug()["stage"] == "stopped"


@pytest.mark.needs("clock")
@pytest.mark.contract("D-10/reauth", "D-12/always-chat")
def test_a_member_whose_token_cannot_be_renewed_stays_until_it_ends(
    advance: Advance, context: BrowserContext, shop: ShopPage
) -> None:
    """F142: if `getToken` fails at a `reauth`, the member must stay until the token expires (4419)."""
    shop.open()
    widget = shop.sign_in()
    uid = widget.uid
    context.route("**/chat/token", lambda route: route.fulfill(status=503))

    with widget.expect_event("socket:ready"):  # the widget takes the jump for sleep: a new socket
        advance(3545)  # the renewal was due at 3540 s, and `reauth` is due at 3570 s
    widget.wait_for_error("gettoken_failed")
    with widget.expect_event("token:reauth"):
        advance(26)
    still = widget.identity["uid"]
    with widget.expect_event("socket:closed"):
        advance(30)
    widget.wait_for("visitor")

    assert still == uid
    assert widget.events("socket:closed")[-1]["code"] == 4419
    widget.send("as a visitor again")


@pytest.mark.contract("2.6/memory-only", "D-10/proof")
def test_a_token_in_an_address_would_be_found(
    shop: ShopPage, context: BrowserContext, business: Business, stack: Stack, witness: Witness
) -> None:
    """F145: the check for leaked tokens must find a token in a page address, a referrer and a socket address."""
    shop.open()
    clean = witness.leaks([context])
    planted = business.mint(now=stack.service_lab.now(), uid="planted")

    witness.secrets.add(planted)
    shop.page.goto(f"{business.url}?token={planted}")
    shop.widget.wait_ready()
    shop.page.evaluate(OPEN_AND_SHUT, f"{business.socket_uri}?token={planted}")
    found = {sentence.partition(" in ")[2] for sentence in witness.leaks([context])}
    witness.secrets.remove(planted)  # otherwise this scenario's own check would find it too

    assert clean == []
    assert {f"the address {business.url}", f"the address {business.socket_uri}", f"url of {business.url}"} <= found
    assert any(place.startswith("the referrer sent to ") for place in found)
    assert [place for place in found if place.endswith("'s output")] == []
