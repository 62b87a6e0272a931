"""Tests what browsers do to calls: no microphone, no WebRTC, no permission to play sound, and hidden addresses."""

from typing import Final

import pytest
from playwright.sync_api import expect

from chatkey_e2e.pages.agent import AgentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.scenarios.test_calls import KEEP_PEER, agent_with_tone, shop_with_tone, talk

__all__ = ["agent_with_tone", "shop_with_tone"]  # fixtures

pytestmark = [pytest.mark.long, pytest.mark.needs("kit"), pytest.mark.contract("D-22/ends")]

REFUSE: Final = "navigator.mediaDevices.getUserMedia = async () => {{ throw new DOMException('{}', '{}'); }};"

PLAY_AFTER_A_CLICK = """const { play } = HTMLMediaElement.prototype;
HTMLMediaElement.prototype.play = async function () {
  if (this.srcObject && !window.isAllowed) throw new DOMException("play() needs a click", "NotAllowedError");
  return play.call(this);
};"""


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        pytest.param(REFUSE.format("Permission denied", "NotAllowedError"), "microphone_denied", id="F241-denied"),
        pytest.param(
            REFUSE.format("Permission dismissed", "NotAllowedError"), "microphone_dismissed", id="F241-dismissed"
        ),
        pytest.param(REFUSE.format("Not found", "NotFoundError"), "microphone_missing", id="F242-missing"),
        pytest.param(REFUSE.format("In use", "NotReadableError"), "microphone_busy", id="F242-busy"),
        pytest.param(
            "Object.defineProperty(navigator, 'mediaDevices', { value: undefined });",
            "microphone_unavailable",
            id="F243-http",
        ),
        pytest.param(
            "Object.defineProperty(document, 'permissionsPolicy', { value: { allowsFeature: () => false } });",
            "microphone_unavailable",
            id="F243-policy",
        ),
        pytest.param("delete window.RTCPeerConnection;", "call_unsupported", id="F243-webrtc"),
    ],
)
def test_without_a_microphone_the_person_reads_why_and_nothing_rings(shop: ShopPage, fault: str, code: str) -> None:
    shop.page.add_init_script(fault)
    widget = shop.open()
    widget.open()

    widget.part("call").click()

    widget.wait_for_error(code)
    expect(widget.panel.get_by_role("alert")).to_be_visible()
    expect(widget.part("call-bar")).to_be_hidden()
    assert widget.events("call:changed") == []


def test_a_microphone_that_is_unplugged_ends_the_call(shop_with_tone: ShopPage, agent_with_tone: AgentPage) -> None:
    """F242: The browser reports that the track has ended."""
    shop_with_tone.page.add_init_script(KEEP_PEER)
    widget = shop_with_tone.open()
    talk(widget, agent_with_tone, widget.uid)

    widget.page.evaluate("() => { peer.getSenders()[0].track.dispatchEvent(new Event('ended')); }")

    widget.wait_for_error("microphone_lost")
    widget.wait_for_call("ended")
    expect(agent_with_tone.page.get_by_role("button", name="Hang up")).to_be_hidden()


def test_a_button_plays_sound_that_needs_a_click(shop_with_tone: ShopPage, agent_with_tone: AgentPage) -> None:
    """F245: After the click, the button must disappear."""
    shop_with_tone.page.add_init_script(PLAY_AFTER_A_CLICK)
    widget = shop_with_tone.open()
    widget.call()
    agent_with_tone.take_call(widget.uid)
    button = widget.panel.get_by_role("button", name="Play the sound")
    expect(button).to_be_visible()

    widget.page.evaluate("() => { window.isAllowed = true; }")
    button.press("Enter")

    expect(button).to_be_hidden()
    expect(agent_with_tone.page.get_by_text("Verified", exact=True)).to_be_visible()


@pytest.mark.only_browser(
    "chromium", because="the harness makes Firefox show addresses, for machines without multicast"
)
def test_a_call_connects_although_the_browsers_hide_their_addresses(
    shop_with_tone: ShopPage, agent_with_tone: AgentPage
) -> None:
    """F244: Without a granted microphone, the candidates contain mDNS names. Both sides must hear each other."""
    shop_with_tone.page.add_init_script(KEEP_PEER)
    widget = shop_with_tone.open()

    talk(widget, agent_with_tone, widget.uid)

    offers = widget.page.evaluate("() => [peer.localDescription.sdp, peer.remoteDescription.sdp]")
    assert [".local " in sdp for sdp in offers] == [True, True]
