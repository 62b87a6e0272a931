"""Tests calls in browsers without a usable microphone, without WebRTC, or that do not play sound."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Page, expect

from chatkey_e2e import tone
from chatkey_e2e.annotations import NewContext
from chatkey_e2e.business import Business
from chatkey_e2e.pages.agent import AgentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_stack.patience import PATIENCE

pytestmark = pytest.mark.long

ALLOW: Final = "The call needs your microphone. Allow it in your browser and call again."
ALLOW_NEXT_TIME: Final = "The call needs your microphone. Call again, and allow it when your browser asks."
NOT_FOUND: Final = "No microphone was found. Connect one and call again."
BUSY: Final = "Another program is using your microphone. Close it and call again."
NOT_HERE: Final = "Calls are not possible on this page or in this browser."

REFUSE: Final = """([name, message]) => {
  navigator.mediaDevices.getUserMedia = async () => { throw new DOMException(message, name); };
}"""

PLAY_ONLY_IN_A_CLICK: Final = """let inClick = false;
addEventListener("click", () => { inClick = true; setTimeout(() => { inClick = false; }); }, { capture: true });
const { play } = HTMLMediaElement.prototype;
HTMLMediaElement.prototype.play = async function () {
  if (!inClick) throw new DOMException("play() failed because the user didn't interact", "NotAllowedError");
  return play.call(this);
};"""


def end_of_a_call(widget: WidgetPage, code: str) -> str:
    """Call, wait for the error that ends the call, and return the sentence for the person."""
    widget.open()
    widget.part("call").click()
    widget.wait_for_error(code)
    alert = widget.page.get_by_role("alert")
    expect(alert).to_be_visible()
    expect(widget.part("call-bar")).to_be_hidden()
    assert widget.events("call:changed") == []  # nothing has rung
    return alert.inner_text().strip()


@pytest.mark.needs("calls", "kit")
@pytest.mark.parametrize(
    ("name", "message", "code", "sentence"),
    [
        ("NotAllowedError", "Permission denied", "microphone_denied", ALLOW),
        ("NotAllowedError", "Permission denied by system", "microphone_denied", ALLOW),
        ("NotAllowedError", "Permission dismissed", "microphone_dismissed", ALLOW_NEXT_TIME),
        ("NotFoundError", "Requested device not found", "microphone_missing", NOT_FOUND),
        ("NotReadableError", "Could not start audio source", "microphone_busy", BUSY),
        ("AbortError", "Starting audioinput failed", "microphone_busy", BUSY),
        ("SecurityError", "The operation is insecure.", "microphone_unavailable", NOT_HERE),
    ],
)
def test_each_reason_of_the_browser_has_a_code_and_a_sentence(
    shop: ShopPage, name: str, message: str, code: str, sentence: str
) -> None:
    """F241, F242, F243: the browser's error decides the code. The chat goes on, and the next call asks again."""
    widget = shop.open()
    shop.page.evaluate(REFUSE, [name, message])

    first = end_of_a_call(widget, code)
    widget.send("Then I will write.")

    assert first == sentence


@pytest.mark.needs("calls", "kit")
def test_a_browser_without_webrtc_has_no_button_for_calls(shop: ShopPage) -> None:
    """F243: WebKitGTK is such a browser."""
    shop.page.add_init_script("delete window.RTCPeerConnection;")
    widget = shop.open()
    widget.open()

    expect(widget.part("call")).to_be_hidden()


@pytest.mark.needs("calls", "kit")
def test_a_page_whose_policy_forbids_the_microphone_says_so(page: Page, business: Business) -> None:
    """F243: `microphone=()` for the page."""
    html = f"<!doctype html><title>Mine</title>{business.snippet(get_token=False)}"
    page.goto(business.add_page(html, headers={"Permissions-Policy": "microphone=()"}))
    widget = WidgetPage(page)
    widget.wait_ready()

    assert end_of_a_call(widget, "microphone_unavailable") == NOT_HERE


@pytest.mark.needs("agent", "calls", "kit")
def test_sound_that_may_not_play_yet_plays_after_a_click(shop: ShopPage, agent: AgentPage) -> None:
    """F245: the browser refuses to play sound without a click, and the call shows a button."""
    shop.page.add_init_script(PLAY_ONLY_IN_A_CLICK)
    widget = begin(shop, agent)

    widget.panel.get_by_role("button", name="Play the sound").click()

    expect(widget.panel.get_by_role("button", name="Play the sound")).to_be_hidden()
    tone.heard(shop.page, 880, timeout=PATIENCE * 1000)
    assert widget.events("error") == []


def begin(shop: ShopPage, agent: AgentPage) -> WidgetPage:
    """Begin a call with a tone on both sides, and wait until the agent hears the customer."""
    tone.play_instead_of_microphone(shop.page, 440)
    tone.play_instead_of_microphone(agent.page, 880)
    agent.sign_in()
    widget = shop.open()
    widget.call()
    agent.take_call(widget.uid)
    tone.heard(agent.page, 440, timeout=PATIENCE * 1000)
    return widget


@pytest.fixture
def agent(new_context: NewContext, business: Business) -> AgentPage:
    """An agent's page that is not signed in yet, with a clock of its own."""
    return AgentPage(new_context().new_page(), business.stack.service.browser_url)
