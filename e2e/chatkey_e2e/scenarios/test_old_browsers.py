"""Tests browsers without features that newer ones have: the chat works, or the person reads why it does not."""

import pytest
from playwright.sync_api import Page, expect

from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage

pytestmark = pytest.mark.long

NO_SHEETS = "delete window.CSSStyleSheet; delete Document.prototype.adoptedStyleSheets;"
OLD_SHEETS = "delete Document.prototype.adoptedStyleSheets; delete ShadowRoot.prototype.adoptedStyleSheets;"
FROZEN_SHEETS = """Object.defineProperty(ShadowRoot.prototype, "adoptedStyleSheets", {
  get: () => Object.freeze([]), set() { throw new TypeError("not supported"); },
});"""
LESS = """for (const name of ["HTMLDialogElement", "structuredClone", "BroadcastChannel", "reportError"]) {
  delete window[name];
}
for (const name of ["showPopover", "hidePopover", "togglePopover", "popover"]) delete HTMLElement.prototype[name];
delete window.Navigator.prototype.locks;
delete IDBFactory.prototype.databases;
delete Array.prototype.toSorted;
delete String.prototype.isWellFormed;
delete String.prototype.toWellFormed;
delete Promise.withResolvers;"""
"""Removes what Chrome 96, Firefox 100 or Safari 16.4 do not have, and some more."""

NO_WASM = "delete window.WebAssembly;"
OLD_WASM = "WebAssembly.validate = () => false;"
SENTENCE = "The chat is not available in this browser."


def looks(widget: WidgetPage) -> str:
    """Return how the launcher is placed. Without a style sheet, it is not fixed."""
    launcher = widget.page.locator("chatkey-widget .launcher")
    placed: str = launcher.evaluate("(launcher) => getComputedStyle(launcher).position")
    return placed


@pytest.mark.parametrize(
    "shim",
    [
        pytest.param(NO_SHEETS, id="F226-no-sheets"),
        pytest.param(OLD_SHEETS, id="F226-not-adopted"),
        pytest.param(FROZEN_SHEETS, id="F226-frozen"),
        pytest.param(LESS, id="less"),
    ],
)
def test_a_browser_with_fewer_features_chats(shop: ShopPage, shim: str) -> None:
    """F226: the chat must work, and must have its looks."""
    shop.page.add_init_script(shim)

    widget = shop.open()
    widget.send("Hello")
    shop.reload()

    assert widget.lines(1) == ["Hello"]
    assert looks(widget) == "fixed"
    assert widget.events("error") == []


@pytest.mark.parametrize("shim", [NO_WASM, OLD_WASM], ids=["no-wasm", "old-wasm"])
def test_a_browser_that_cannot_run_python_says_so(shop: ShopPage, page: Page, shim: str) -> None:
    """F225: the person reads one sentence and can close it. The page gets the code."""
    page.add_init_script(shim)
    shop.visit()

    expect(page.get_by_role("status").filter(has_text=SENTENCE)).to_be_visible()
    code = page.evaluate("() => Service.ready.catch((error) => error.code)")
    page.get_by_role("button", name="Dismiss").click()

    assert code == "browser_unsupported"
    expect(page.locator("chatkey-widget")).to_have_count(0)
