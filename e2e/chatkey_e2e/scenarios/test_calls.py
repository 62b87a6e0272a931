"""Tests calls by sound: each side plays a tone, and the other side must find the tone in the spectrum."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from chatkey_e2e import tone
from chatkey_e2e.annotations import NewContext
from chatkey_e2e.pages.agent import AgentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_stack.patience import PATIENCE
from chatkey_stack.stack import Stack

CUSTOMER_HERTZ = 440
AGENT_HERTZ = 880
WAIT = PATIENCE * 1000

KEEP_PEER = """const Peer = RTCPeerConnection;
window.RTCPeerConnection = class extends Peer { constructor(...given) { super(...given); window.peer = this; } };"""

Report = Callable[[str, float], None]


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """Add a measured value to the report of the test."""
    return lambda name, value: request.node.user_properties.append((name, value))


@pytest.fixture
def agent_with_tone(new_context: NewContext, stack: Stack) -> AgentPage:
    """An agent whose microphone hears a tone."""
    context = new_context()
    tone.play_instead_of_microphone(context, AGENT_HERTZ)
    agent = AgentPage(context.new_page(), stack.service.browser_url)
    agent.sign_in()
    return agent


@pytest.fixture
def shop_with_tone(shop: ShopPage) -> ShopPage:
    """A shop whose customer's microphone hears a tone."""
    tone.play_instead_of_microphone(shop.page, CUSTOMER_HERTZ)
    return shop


def talk(widget: WidgetPage, agent: AgentPage, customer: str) -> None:
    """Begin a call, and wait until both sides hear each other."""
    widget.call()
    agent.take_call(customer)
    tone.heard(widget.page, AGENT_HERTZ, timeout=WAIT)
    tone.heard(agent.page, CUSTOMER_HERTZ, timeout=WAIT)


def silence(hearing: Page, what: Callable[[], None]) -> float:
    """Do something that stops the other side's sound, and return the milliseconds until this page hears nothing."""
    since = time.time() * 1000
    what()
    return tone.silent_after(hearing, since=since, timeout=WAIT)


@pytest.mark.needs("kit")
@pytest.mark.contract("D-22/bound")
def test_both_sides_of_a_call_hear_each_other(
    shop_with_tone: ShopPage, agent_with_tone: AgentPage, report: Report
) -> None:
    """Both tones must arrive, and the agent must see that the sound is verified. After hanging up, there is silence."""
    widget = shop_with_tone.open()
    talk(widget, agent_with_tone, widget.uid)
    report("hertz_at_widget", tone.heard(widget.page, AGENT_HERTZ, timeout=WAIT))
    report("hertz_at_agent", tone.heard(agent_with_tone.page, CUSTOMER_HERTZ, timeout=WAIT))
    expect(agent_with_tone.page.get_by_text("Verified", exact=True)).to_be_visible()

    muted = silence(agent_with_tone.page, widget.panel.get_by_role("button", name="Mute").click)
    widget.panel.get_by_role("button", name="Unmute").click()
    tone.heard(agent_with_tone.page, CUSTOMER_HERTZ, timeout=WAIT)
    hung_up = silence(agent_with_tone.page, widget.panel.get_by_role("button", name="Hang up").click)

    widget.wait_for_call("ended")
    report("milliseconds_mute", round(muted))
    report("milliseconds_hang_up", round(hung_up))


@pytest.mark.needs("kit")
@pytest.mark.contract("D-22/ends")
def test_the_sound_ends_when_the_customer_logs_out(
    shop_with_tone: ShopPage, agent_with_tone: AgentPage, report: Report
) -> None:
    """After a logout, the agent must hear nothing, and the call must be over."""
    shop_with_tone.open()
    widget = shop_with_tone.sign_in()
    talk(widget, agent_with_tone, "Ada")

    report("milliseconds_logout", round(silence(agent_with_tone.page, widget.sign_out)))

    expect(agent_with_tone.page.get_by_role("button", name="Hang up")).to_be_hidden()


@pytest.mark.needs("kit")
@pytest.mark.contract("D-22/ends")
def test_the_sound_ends_when_the_agent_signs_out(
    shop_with_tone: ShopPage, agent_with_tone: AgentPage, report: Report
) -> None:
    """After the agent has signed out, the customer must hear nothing, and the call must be over."""
    widget = shop_with_tone.open()
    talk(widget, agent_with_tone, widget.uid)

    sign_out = agent_with_tone.page.get_by_role("button", name="Sign out").click
    report("milliseconds_sign_out", round(silence(widget.page, sign_out)))

    widget.wait_for_call("ended")


@pytest.mark.needs("kit")
@pytest.mark.contract("D-22/ends")
def test_a_muted_microphone_stays_muted_after_a_reload_and_the_launcher_says_so(
    shop_with_tone: ShopPage, agent_with_tone: AgentPage
) -> None:
    """The agent must hear nothing until the customer switches the microphone on, beside the closed panel."""
    widget = shop_with_tone.open()
    talk(widget, agent_with_tone, widget.uid)
    silence(agent_with_tone.page, widget.panel.get_by_role("button", name="Mute").click)

    widget = shop_with_tone.reload()

    tone.heard(widget.page, AGENT_HERTZ, timeout=WAIT)
    launcher = widget.page.get_by_role("button", name="Open chat (In a call · your microphone is off)")
    expect(launcher).to_be_visible()
    agent_with_tone.page.wait_for_function("() => chatkeyTone.seconds > 1")  # of the new connection
    assert agent_with_tone.page.evaluate("() => chatkeyTone.hertz") == 0
    widget.page.get_by_role("button", name="Unmute").click()
    tone.heard(agent_with_tone.page, CUSTOMER_HERTZ, timeout=WAIT)
    widget.page.get_by_role("button", name="Hang up").click()
    expect(agent_with_tone.page.get_by_role("button", name="Hang up")).to_be_hidden()


@pytest.mark.needs("kit")
@pytest.mark.contract("D-22/ends")
def test_a_reload_of_the_agents_page_does_not_end_the_call(
    shop_with_tone: ShopPage, agent_with_tone: AgentPage
) -> None:
    """The agent's page must join its call again, stay muted, and say so in the title of the tab."""
    widget = shop_with_tone.open()
    talk(widget, agent_with_tone, widget.uid)
    agent_with_tone.page.get_by_role("button", name="Mute").click()

    agent_with_tone.page.reload()

    expect(agent_with_tone.page).to_have_title(re.compile("On a call, muted"))
    agent_with_tone.page.get_by_role("button", name="Unmute").click()  # the tone's AudioContext needs a click, too
    tone.heard(agent_with_tone.page, CUSTOMER_HERTZ, timeout=WAIT)
    tone.heard(widget.page, AGENT_HERTZ, timeout=WAIT)
    expect(agent_with_tone.page.get_by_text("You are on a call.")).to_be_visible()


@pytest.mark.needs("kit")
@pytest.mark.only_browser("chromium", because="Firefox has one fake microphone only")
def test_the_person_chooses_the_microphone_with_the_keyboard(shop: ShopPage, agent_with_tone: AgentPage) -> None:
    """The chosen microphone must be used in the call that goes on."""
    shop.page.add_init_script(KEEP_PEER)
    widget = shop.open()
    widget.call()
    agent_with_tone.take_call(widget.uid)
    expect(agent_with_tone.page.get_by_text("Verified", exact=True)).to_be_visible()

    chosen = choose_another_microphone(widget.page)

    widget.page.wait_for_function("(label) => peer.getSenders()[0].track.label === label", arg=chosen)
    expect(widget.panel.get_by_role("combobox", name="Speaker")).to_be_visible()


def choose_another_microphone(page: Page) -> str:
    """Choose the next microphone of the list with the keyboard, and return its name."""
    choice = page.get_by_role("combobox", name="Microphone")
    expect(choice).to_be_visible()
    before = choice.evaluate("(select) => select.selectedOptions[0].label")
    choice.focus()
    choice.press("ArrowDown")
    chosen = str(choice.evaluate("(select) => select.selectedOptions[0].label"))
    assert chosen != before
    return chosen
