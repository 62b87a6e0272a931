"""The demo's page, with a tab for each mode: the shop, the activity of the widget, and the agent panel."""

import re

from playwright.sync_api import FrameLocator, Locator, Page, expect

from chatkey_e2e.pages.consent import ConsentPage
from chatkey_e2e.pages.widget import test_id


class DemoPage:
    """The demo in one browser tab. One mode is selected at a time."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def turn_to(self, number: int) -> None:
        """Select a mode by its number, and wait until the widget of this mode is connected."""
        self.page.get_by_role("tab").nth(number - 1).click()
        self.wait_for_event("ready")

    # the activity of the widget

    def wait_for(self, kind: str, name: str | None = None) -> None:
        """Wait until the page shows the widget's identity: `kind` is "Visitor" or "Member", optionally with a name."""
        expect(self._watch.get_by_text(kind, exact=True)).to_be_visible()
        if name:
            expect(self._watch.get_by_text(name).first).to_be_visible()

    def wait_for_event(self, name: str) -> None:
        """Wait until the list of events contains `name`."""
        expect(self._watch.get_by_role("list", name="Events").get_by_text(name, exact=True).first).to_be_visible()

    def fact(self, name: str) -> str:
        """Return the value of `uid`, `jkt` or a claim. If several are shown, return the first."""
        return self._fact(name).inner_text()

    def wait_for_the_proof(self) -> None:
        """Wait until the claims of the last proof are visible without scrolling."""
        self.page.wait_for_function(
            """(watch) => {
                const name = [...watch.querySelectorAll("dt")].find((each) => each.textContent === "ath");
                const claim = name?.nextElementSibling.querySelector("code");
                const { left, bottom } = claim?.getBoundingClientRect() ?? {};
                return claim && document.elementFromPoint(left + 1, bottom - 1) === claim;
            }""",
            arg=self._watch.element_handle(),
        )

    def reset(self) -> None:
        """Press Reset, and wait until the widget is connected with a new key."""
        before = self.fact("jkt")
        self._mode.get_by_role("button", name="Reset").click()
        expect(self._fact("jkt")).not_to_have_text(before)
        self.wait_for_event("ready")

    # the shop and its widget

    @property
    def shop(self) -> FrameLocator:
        return self._mode.frame_locator("iframe")

    def send(self, text: str) -> None:
        """Send a message in the shop's chat."""
        self._open_chat()
        self._part("message").fill(text)
        self._part("send").click()

    def sign_in_with(self, social: str) -> ConsentPage:
        """Press a social provider's button in the shop's chat, and return the consent page in the popup."""
        self._open_chat()
        self._part("sign-in").click()
        with self.page.expect_popup() as popup:
            self._part(f"social-{social}").click()
        return ConsentPage(popup.value).wait()

    def wait_for_line(self, text: str) -> None:
        """Wait until the shop's chat shows this text."""
        expect(self.shop.get_by_role("log").get_by_text(text)).to_be_visible()

    def call(self) -> None:
        """Call the business from the shop's chat, and wait until it rings."""
        self._open_chat()
        self._part("call").click()
        expect(self._part("call-bar")).to_have_attribute("data-state", "ringing")

    def wait_for_call(self, state: str) -> None:
        expect(self._part("call-bar")).to_have_attribute("data-state", state)

    def call_fact(self, name: str) -> Locator:
        """Return the value beside this name in the section about the call."""
        section = self._watch.locator("details.call")
        return section.locator("dt", has_text=re.compile(f"^{name}$")).first.locator("+ dd code")

    def wait_for_verified_call(self) -> None:
        expect(self._watch.get_by_text("Proof, verified by the service")).to_be_visible()

    # the agent

    def answer_call(self, customer: str) -> None:
        """Open the conversation with a visitor (by uid), and answer the call."""
        panel = self.page.frame_locator('iframe[title="Agent panel"]')
        panel.get_by_role("button", name=f"Visitor {customer[2:8]}").click()
        panel.get_by_role("button", name="Answer").click()

    def answer(self, customer: str, text: str) -> None:
        """Open the conversation with a visitor (by uid), and answer."""
        panel = self.page.frame_locator('iframe[title="Agent panel"]')
        panel.get_by_role("button", name=f"Visitor {customer[2:8]}").click()
        panel.get_by_role("textbox", name="Answer").fill(text)
        panel.get_by_role("button", name="Send").click()

    def _open_chat(self) -> None:
        if not self._part("panel").is_visible():
            self._part("launcher").click()

    def _part(self, name: str) -> Locator:
        return self.shop.locator(test_id(name))

    def _fact(self, name: str) -> Locator:
        return self._watch.locator("dt", has_text=re.compile(f"^{name}$")).first.locator("+ dd code")

    @property
    def _mode(self) -> Locator:
        return self.page.get_by_role("tabpanel")

    @property
    def _watch(self) -> Locator:
        return self._mode.get_by_role("region", name="What is going on")
