"""Tests strict Content-Security-Policies, replaced browser functions, and widget files that cannot be loaded."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import Csp, ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import MakeBusiness
from chatkey_e2e.scenarios.openers import errors_of
from chatkey_e2e.witness import Witness

pytestmark = pytest.mark.long

HEAR_ERRORS = """window.heard = [];
document.addEventListener("service:error", (event) => heard.push(event.detail));"""

HEAR_VIOLATIONS = """window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));"""

BREAK_EVERYTHING = """() => {
  const broken = () => { throw new Error("out of order"); };
  const { stringify } = JSON;
  window.Date = class extends Date { static now() { return 0; } };
  window.Promise = class extends Promise { static allSettled() { return broken(); } };
  Object.assign(window, { fetch: broken, setTimeout: broken, WebSocket: broken });
  JSON.stringify = (value, ...others) => (value?.type === "wf:oauth" ? "null" : stringify(value, ...others));
}"""

WHEN_PYTHON_RUNS = """let handle;
Object.defineProperty(window, "Service", {
  configurable: true,
  get: () => handle,
  set: (value) => { handle = value; handle.on("key:ready", %s); },
});"""

ALLOW_REQUESTS_TO = """(sources) => new MutationObserver((_, observer) => {
  if (!document.head) return;
  observer.disconnect();
  const policy = Object.assign(document.createElement("meta"), { content: `connect-src ${sources}` });
  policy.httpEquiv = "Content-Security-Policy";
  document.head.prepend(policy);
}).observe(document, { childList: true, subtree: true })"""

FOR_EVERY_PAGE = {"Access-Control-Allow-Origin": "*"}


def test_a_page_of_the_test_has_the_headers_that_it_is_given(page: Page, business: Business) -> None:
    """The widget connects on a page with a policy and with cross-origin isolation."""
    service = business.stack.service.browser_url
    headers = {
        "Content-Security-Policy": f"default-src 'self'; script-src 'unsafe-inline' 'wasm-unsafe-eval' {service}; "
        f"style-src {service}; connect-src 'self' {service} {service.replace('https', 'wss', 1)}",
        "Cross-Origin-Embedder-Policy": "credentialless",
        "Cross-Origin-Opener-Policy": "same-origin",
    }

    page.goto(business.add_page(f"<!doctype html><title>Mine</title>{business.snippet()}", headers=headers))
    widget = WidgetPage(page)
    widget.wait_ready()

    assert widget.debug()["browser"]["isolated"]


@pytest.fixture
def listening(shop: ShopPage) -> ShopPage:
    """The shop, with a page that records every error of the widget."""
    shop.page.add_init_script(HEAR_ERRORS)
    return shop


def first_error(shop: ShopPage) -> dict[str, str]:
    """Wait until the page gets an error, and return the first one."""
    shop.page.wait_for_function("() => window.heard.length > 0")
    error: dict[str, str] = shop.page.evaluate("() => heard[0]")
    return error


def not_found(route: Route) -> None:
    route.fulfill(status=404, headers=FOR_EVERY_PAGE)


def spoilt(route: Route) -> None:
    route.fulfill(body=b"\0asm and then nothing of use", content_type="application/wasm", headers=FOR_EVERY_PAGE)


def another_type(route: Route) -> None:
    route.fulfill(body="<title>Sign in to this network</title>", content_type="text/html", headers=FOR_EVERY_PAGE)


# the page's policy


@pytest.mark.contract("4.8/sdk")
def test_a_policy_without_webassembly_is_told_at_once(listening: ShopPage, witness: Witness) -> None:
    """F075: if the policy lacks `wasm-unsafe-eval`, the page must get `csp_blocked`, which names the source to add."""
    listening.visit(csp="without-wasm")
    error = first_error(listening)

    assert error["code"] == "csp_blocked"
    assert "wasm" in error["message"]
    assert error["remediation"] == "Add 'wasm-unsafe-eval' to its script-src."
    assert witness.sockets == []


@pytest.mark.contract("4.8/sdk")
@pytest.mark.parametrize("csp", ["strict", "strict-dynamic"])
def test_the_widget_breaks_no_rule_of_the_strictest_policies(shop: ShopPage, csp: Csp) -> None:
    """F076, F077: the visitor can chat under the strictest policies, and the widget must not violate them."""
    shop.page.add_init_script(HEAR_VIOLATIONS)

    widget = shop.open(csp=csp)
    widget.send("Is the moss cup for tea?")

    assert widget.debug()["boot"]["from"] == "snapshot"
    assert shop.page.evaluate("() => violations") == []


def test_a_policy_that_blocks_the_service_is_told_as_such(listening: ShopPage, witness: Witness) -> None:
    """F208: if the policy allows the widget's files but not the service, the page must get `csp_blocked`."""
    service = listening.business.stack.service.browser_url
    listening.page.add_init_script(f"({ALLOW_REQUESTS_TO})(\"'self' {service}/assets/\")")

    listening.visit()
    error = first_error(listening)
    listening.page.locator(".launcher").click()

    expect(listening.page.get_by_role("alert")).to_have_text("The chat is not available here.")
    assert error["code"] == "csp_blocked"
    assert error["remediation"] == f"Add {service} to its connect-src."
    assert {told["code"] for told in listening.page.evaluate("() => heard")} == {"csp_blocked"}
    assert witness.sockets == []


# the files of Pyodide


@pytest.mark.parametrize(
    ("file", "misbehave", "told"),
    [
        ("pyodide.asm.wasm", not_found, "404"),
        ("pyodide.asm.wasm", spoilt, "WebAssembly|wasm"),
        ("pyodide.asm.wasm", another_type, "MIME|WebAssembly"),
        ("pyodide.mjs", not_found, "pyodide.mjs"),
        ("pyodide.asm.mjs", another_type, "pyodide.asm.mjs"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(
    listening: ShopPage, file: str, misbehave: Callable[[Route], None], told: str
) -> None:
    """F078: if a file is missing, corrupt or of a wrong type, the page must get `boot_failed` and work as before."""
    listening.page.context.route(re.compile(re.escape(file)), misbehave)
    own_errors = errors_of(listening.page)

    listening.visit()
    error = first_error(listening)

    assert error["code"] == "boot_failed"
    assert re.search(told, error["message"])
    assert own_errors == []
    listening.page.get_by_role("button", name="Ada").click()
    listening.page.get_by_role("button", name="Leave the shop").wait_for()


def test_a_file_that_is_slow_is_told_and_still_awaited(listening: ShopPage) -> None:
    """F078: if a file takes half a minute, the page must get an error. The widget must run once the file has loaded."""
    held: list[Route] = []
    listening.page.clock.install()
    listening.page.context.route(re.compile(r"\.wasm$"), lambda route: held.append(route))  # noqa: PLW0108  (Playwright takes no built-in method)
    with listening.page.expect_request(re.compile(r"\.wasm$")):
        listening.visit()

    listening.page.clock.fast_forward(30_000)
    error = first_error(listening)
    for route in held:
        route.continue_()
    listening.widget.wait_ready()

    assert error["code"] == "boot_failed"
    assert error["retryable"]
    assert "still trying" in error["message"]


# functions that the page replaces


@pytest.mark.parametrize("name", ["fetch", "setTimeout"])
def test_what_the_page_broke_beforehand_is_named(listening: ShopPage, name: str) -> None:
    """F079: if the page broke a function that the widget needs, the widget must not start.

    It must name the function.
    """
    listening.page.add_init_script(f"window.{name} = () => {{ throw new Error('out of order'); }};")

    listening.visit()
    error = first_error(listening)

    assert error["code"] == "boot_failed"
    assert f"The page has replaced {name}" in error["message"]
    assert listening.widget.debug()["boot"]["replaced"] == [name]


@pytest.mark.needs("social")
def test_what_the_page_breaks_later_is_not_used(page: Page, make_business: MakeBusiness, social: str) -> None:
    """F079: if the page breaks functions such as fetch after Python has started, chat and login must still work."""
    shop = ShopPage(page, make_business(get_token=False, service_keys=[social]))
    page.add_init_script(WHEN_PYTHON_RUNS % BREAK_EVERYTHING)

    widget = shop.open()
    widget.send("Is the moss cup for tea?")
    widget.sign_in_with(social).approve()
    widget.wait_for("member")

    broken = {"Date", "JSON.stringify", "Promise", "WebSocket", "fetch", "setTimeout"}
    assert set(widget.debug()["boot"]["replaced"]) == broken
