"""Tests Local Network Access: Chromium keeps a public page from the service, which is on this computer.

`--ip-address-space-overrides` makes the shop's page a public one. A headless browser cannot ask a person, so it refuses
everything that is not allowed.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, WebSocketRoute, expect

from chatkey_e2e import needs, tone
from chatkey_e2e.annotations import MakeBusiness, Members, NewContext, Watch
from chatkey_e2e.business import Business
from chatkey_e2e.pages.agent import AgentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.scenarios.openers import Opener, approve
from chatkey_stack.patience import PATIENCE
from chatkey_stack.stack import Stack

pytestmark = [
    pytest.mark.long,
    pytest.mark.only_browser("chromium", because="no other browser has --ip-address-space-overrides"),
]

HEAR_ERRORS = """window.heard = [];
document.addEventListener("service:error", (event) => heard.push(event.detail));"""

SENTENCE = (
    "The chat is in your local network, and your browser may keep this page from it. Allow access in the site settings."
)
CALL_SENTENCE = (
    "The sound did not connect. Your browser keeps this page from your local network, which may be the cause. "
    "Allow access in the site settings and call again."
)
CHECK_CALLS = "--enable-features=LocalNetworkAccessChecksWebRTC"
"""Chromium 156 can check the candidates of calls, but does so only with this feature."""

ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}

LOADED = """(ends) => ends.every((end) =>
  performance.getEntriesByType("resource").some(({ name, responseEnd }) => name.endsWith(end) && responseEnd))"""


@pytest.fixture
def business(request: pytest.FixtureRequest, make_business: MakeBusiness, social: str) -> Business:
    return make_business(service_keys=needs.socials_of(request.node, social))


@pytest.fixture
def public(
    launch_browser: Callable[..., Browser],
    stack: Stack,
    chatkey_watch: Watch,
    browser_context_args: Members,
    business: Business,
) -> Iterator[ShopPage]:
    """The shop in a browser that takes the shop's page for a public one."""
    port = urlsplit(stack.site.browser_url).port
    browser = launch_browser(args=[f"--ip-address-space-overrides=127.0.0.1:{port}=public", CHECK_CALLS])
    context = chatkey_watch(browser.new_context(**browser_context_args))
    page = context.new_page()
    page.add_init_script(HEAR_ERRORS)
    yield ShopPage(page, business)
    context.close()
    browser.close()


def decide(page: Page, decision: Literal["granted", "denied"]) -> None:
    """Answer the browser's question about the local network, as the person would in the site settings."""
    browser = page.context.browser
    assert browser is not None
    of_page = page.context.new_cdp_session(page).send("Target.getTargetInfo")["targetInfo"]["browserContextId"]
    for name in ("loopback-network", "local-network"):
        chosen = {"permission": {"name": name}, "setting": decision, "browserContextId": of_page}
        browser.new_browser_cdp_session().send("Browser.setPermission", chosen)


def serve(context: BrowserContext, stack: Stack, path: str) -> None:
    """Serve the service's files or answers below this path from the test, so that the browser need not request them."""

    def answer(route: Route) -> None:
        url = urlsplit(route.request.url)
        given = stack.get(url.path + (f"?{url.query}" if url.query else ""))
        headers = {**ANY_ORIGIN, "Content-Type": given.headers["content-type"]}
        route.fulfill(status=given.status_code, headers=headers, body=given.content)

    context.route(f"{stack.service.browser_url}{path}", answer)


def first_error(page: Page) -> dict[str, str]:
    page.wait_for_function("() => window.heard.length > 0")
    error: dict[str, str] = page.evaluate("() => heard[0]")
    return error


@pytest.mark.needs("kit")
def test_a_page_that_may_reach_the_local_network_has_its_chat(public: ShopPage) -> None:
    """F249: with the permission, the visitor can chat."""
    public.page.context.grant_permissions(["local-network-access"])

    widget = public.open()
    widget.send("Do you ship to Norway?")

    assert widget.events("error") == []


@pytest.mark.needs("kit")
def test_a_page_that_may_not_load_the_widget_is_told_so(public: ShopPage, stack: Stack) -> None:
    """F249: the script comes from elsewhere, the widget's files are blocked, and the person reads one sentence."""
    serve(public.page.context, stack, "/assets/sdk.js")
    decide(public.page, "denied")

    public.visit()
    error = first_error(public.page)

    expect(public.page.get_by_role("status").filter(has_text=SENTENCE)).to_be_visible()
    assert (error["code"], error["phase"]) == ("local_network_blocked", "start")
    assert stack.service.browser_url in error["message"]


@pytest.mark.needs("kit")
def test_a_person_who_has_not_answered_the_question_is_told_so(page: Page, business: Business, stack: Stack) -> None:
    """F249: the address of this page is public, so the permission counts as missing until the person grants it."""
    page.add_init_script(HEAR_ERRORS)
    serve(page.context, stack, "/assets/sdk.js")
    body = f"<!doctype html><title>Shop</title>{business.snippet(get_token=False)}"
    page.route("https://shop.example/", lambda route: route.fulfill(content_type="text/html", body=body))

    page.goto("https://shop.example/")

    assert first_error(page)["code"] == "local_network_blocked"


@pytest.mark.needs("kit")
def test_a_permission_that_is_taken_away_stops_the_requests(public: ShopPage) -> None:
    """F249: the files are loaded, and the requests to the service are blocked. If the person allows them, they chat."""
    page = public.page
    load_files(public)
    decide(page, "denied")

    start(public)
    error = first_error(page)
    decide(page, "granted")
    page.evaluate("() => Service.open()")
    WidgetPage(page).wait_ready()

    assert (error["code"], error["phase"]) == ("local_network_blocked", "socket")
    assert f"{public.business.stack.service.browser_url}/v1/public/" in error["message"]
    assert [told["code"] for told in page.evaluate("() => heard")] == ["local_network_blocked"]


@pytest.mark.needs("kit")
def test_a_blocked_socket_is_told_with_its_address(public: ShopPage, stack: Stack) -> None:
    """F249: since Chrome 147, the browser also blocks sockets. All other answers come from elsewhere here."""
    load_files(public)
    serve(public.page.context, stack, "/v1/public/**")
    decide(public.page, "denied")

    start(public)
    error = first_error(public.page)

    assert (error["code"], error["phase"]) == ("local_network_blocked", "socket")
    assert public.business.socket_uri in error["message"]


def load_files(public: ShopPage) -> None:
    """Load the widget's files on a page that does not start the widget yet."""
    business = public.business
    decide(public.page, "granted")
    script = f"{business.stack.service.browser_url}/assets/sdk.js"
    public.page.goto(business.add_page(f'<!doctype html><title>Mine</title><script src="{script}"></script>'))
    public.page.wait_for_function(LOADED, arg=["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", ".snapshot"])


def start(public: ShopPage) -> None:
    public.page.evaluate("(providerId) => { initService({ providerId }); }", public.business.provider.id)


@pytest.mark.needs("kit", "social")
def test_a_sign_in_window_needs_no_permission(public: ShopPage, business: Business, social: str) -> None:
    """F249: Chromium does not block windows, so a login can end on a page that may not reach the service itself."""
    opener = Opener(public.page, business, social).at(business.origin)
    decide(public.page, "denied")

    approve(opener.start())

    assert opener.token()


# calls


class FarPeer:
    """A relay that moves the other side of a call to an address in the local network at which nobody answers."""

    def between(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        socket.on_message(lambda text: server.send(self._changed(text, "a=x:1")))
        server.on_message(lambda text: socket.send(self._changed(text, r"\g<1> 10.99.0.1 \g<2>")))

    def _changed(self, text: str | bytes, candidate: str) -> str:
        frame = json.loads(text)
        if "sdp" in frame:
            frame["sdp"] = re.sub(r"(a=candidate:\S+ \d+ \S+ \d+) \S+ (\d+ typ .*)", candidate, frame["sdp"])
        return json.dumps(frame)


@pytest.fixture
def agent(new_context: NewContext, stack: Stack) -> AgentPage:
    """An agent in another browser, whose microphone hears a tone."""
    context = new_context()
    tone.play_instead_of_microphone(context, 880)
    agent = AgentPage(context.new_page(), stack.service.browser_url)
    agent.sign_in()
    return agent


@pytest.mark.needs("agent", "calls", "kit")
def test_a_call_that_may_use_the_local_network_has_sound(public: ShopPage, agent: AgentPage) -> None:
    """F250, F252: with the permission, the browser uses the agent's candidates, although their addresses are hidden."""
    heard: list[str] = []
    public.page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: heard.append(str(frame))))
    tone.play_instead_of_microphone(public.page, 440)
    decide(public.page, "granted")
    widget = public.open()

    widget.call()
    agent.take_call(widget.uid)

    tone.heard(agent.page, 440, timeout=PATIENCE * 1000)
    tone.heard(public.page, 880, timeout=PATIENCE * 1000)
    (offer,) = [frame for frame in heard if '"offer"' in frame]
    assert ".local " in offer


@pytest.mark.needs("agent", "calls", "kit")
@pytest.mark.parametrize(
    ("decision", "code", "sentence"),
    [
        ("denied", "call_local_network", CALL_SENTENCE),
        ("granted", "call_unconnected", "The sound could not be connected. Please try again, or write to us."),
    ],
)
def test_a_call_without_a_connection_names_the_local_network_only_if_it_is_the_cause(
    public: ShopPage, agent: AgentPage, decision: Literal["granted", "denied"], code: str, sentence: str
) -> None:
    """F244, F250: without the permission, Chromium drops the candidate. With it, Chromium tries it in vain."""
    page = public.page
    page.clock.install()
    page.route_web_socket("**/v1/socket*", FarPeer().between)
    decide(page, "granted")
    widget = public.open()
    decide(page, decision)

    widget.call()
    agent.take_call(widget.uid)
    widget.wait_for_event("call:proof")
    page.clock.fast_forward(15_000)
    widget.wait_for_error(code)

    expect(page.get_by_role("alert")).to_have_text(sentence)
    expect(agent.page.get_by_role("button", name="Hang up")).to_be_hidden()


@pytest.mark.needs("agent", "calls", "kit")
def test_an_agent_whose_browser_blocks_the_local_network_is_told_so(
    launch_browser: Callable[..., Browser], stack: Stack, browser_context_args: Members, shop: ShopPage
) -> None:
    """F250: the service is public, the caller is in the agent's local network, and the permission is denied."""
    port = urlsplit(stack.service.browser_url).port
    with launch_browser(args=[f"--ip-address-space-overrides=127.0.0.1:{port}=public", CHECK_CALLS]) as browser:
        page = browser.new_context(**browser_context_args).new_page()
        page.clock.install()
        page.route_web_socket("**/agent/socket", FarPeer().between)
        agent = AgentPage(page, stack.service.browser_url)
        agent.sign_in()
        decide(page, "denied")
        widget = shop.open()

        widget.call()
        agent.take_call(widget.uid)
        expect(page.get_by_text("Verified", exact=True)).to_be_visible()
        page.clock.fast_forward(15_000)

        expect(page.get_by_text("Your browser keeps this page from your local network")).to_be_visible()
        widget.wait_for_call("ended")
