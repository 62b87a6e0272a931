"""Tests the demo, started with its command: four tabs, and an agent who answers."""

import os
import re
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from chatkey_e2e import axe
from chatkey_e2e.pages.demo import DemoPage
from chatkey_e2e.pages.shop import ADA
from chatkey_stack.patience import PATIENCE
from chatkey_stack.process import Process

pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("witness"),  # sets the harness's timeouts for the demo's page too
]


@pytest.fixture(scope="module")
def demo_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the demo, which is started with its command on free ports."""
    command = (sys.executable, "-m", "chatkey", "demo", "--no-browser", "--port", "0")
    log = tmp_path_factory.mktemp("demo") / "demo.log"
    with Process("demo", command, environ=os.environ, log=log, ready_within=2 * PATIENCE) as process:
        yield process.output().splitlines()[0].removeprefix("ready ")


@pytest.fixture
def demo(page: Page, demo_url: str) -> DemoPage:
    """The demo's page, with the tab of the first identity mode open."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(demo_url)
    demo = DemoPage(page)
    demo.turn_to(1)
    return demo


@pytest.mark.needs("kit")
@pytest.mark.contract("1/mode-visitor", "1/mode-custom", "1/mode-service-keys", "1/mode-own-keys")
def test_every_tab_of_the_demo_reaches_its_identity(demo: DemoPage) -> None:
    """The tabs must connect a visitor, a customer, and social members with the service's and the shop's keys.

    The proof must be visible without scrolling, in a window of 1440 by 900 pixels.
    """
    demo.wait_for("Visitor")
    demo.wait_for_the_proof()

    demo.turn_to(2)
    demo.shop.get_by_role("button", name=ADA).click()
    demo.wait_for("Member", ADA)

    applications = []
    for number, social in ((3, "google"), (4, "github")):
        demo.turn_to(number)
        consent = demo.sign_in_with(social)
        applications.append(consent.application)
        consent.approve()
        demo.wait_for("Member", f"signed in by {social}")

    assert applications == ["Chat Service", "Dune & Ember"]


@pytest.mark.needs("kit")
def test_the_demos_agent_answers_and_the_shop_shows_it(demo: DemoPage) -> None:
    """A message from the shop must appear in the agent panel, and the agent's answer must appear in the shop."""
    demo.send("Is anybody there?")

    demo.answer(demo.fact("uid"), "Good morning!")

    demo.wait_for_line("Good morning!")
    demo.wait_for_event("message:received")


NO_MICROPHONE = """navigator.mediaDevices.getUserMedia = async () => {
  throw new DOMException("Requested device not found", "NotFoundError");
};"""


@pytest.mark.needs("kit")
@pytest.mark.contract("D-22/bound")
@pytest.mark.parametrize("has_microphone", [True, False], ids=["microphone", "no microphone"])
def test_the_demos_agent_answers_a_call_of_the_shop(page: Page, demo_url: str, *, has_microphone: bool) -> None:
    """The call must have verified sound, and the page must show its offer, fingerprint, proof and state.

    On a computer without a microphone, both sides play notes.
    """
    if not has_microphone:
        page.add_init_script(NO_MICROPHONE)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(demo_url)
    demo = DemoPage(page)
    demo.turn_to(1)

    demo.call()
    demo.answer_call(demo.fact("uid"))

    demo.wait_for_call("active")
    demo.wait_for_verified_call()
    expect(demo.call_fact("state")).to_have_text("active")
    expect(demo.call_fact("sound")).to_have_text("connected")
    assert re.fullmatch(r"([0-9A-F]{2}:){31}[0-9A-F]{2}", demo.call_fact("fingerprint").inner_text())


@pytest.mark.needs("kit")
@pytest.mark.contract("2.3/cleared")
def test_a_reset_in_the_demo_makes_a_new_visitor(demo: DemoPage) -> None:
    """A reset must delete the key, which makes a new visitor."""
    before = demo.fact("uid")

    demo.reset()

    assert demo.fact("uid") == f"v_{demo.fact('jkt')}" != before


@pytest.mark.needs("kit")
@pytest.mark.contract("D-12/accessible")
def test_axe_finds_nothing_serious_in_the_demo(demo: DemoPage) -> None:
    """axe must find no serious problem in the demo with a member and an open agent panel, light and dark."""
    demo.turn_to(2)
    demo.shop.get_by_role("button", name=ADA).click()
    demo.wait_for("Member", ADA)

    assert axe.found_in_both_schemes(demo.page) == []
