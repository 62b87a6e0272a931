"""Drives any widget with selectors for its visible parts. Tests judge the widget by the traffic of the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, Request, expect

from chatkey_e2e.business import Business
from chatkey_e2e.knowledge import widget_state
from chatkey_e2e.pages.consent import ConsentPage
from chatkey_e2e.pages.shop import ADA
from chatkey_e2e.witness import Witness
from chatkey_protocol.frames import Kind
from chatkey_stack.patience import PATIENCE

LOOK_MS: Final = 40
AFTER_REFUSAL_MS: Final = 8000

OURS: Final[Mapping[str, str]] = {
    "open": '[data-testid="chatkey-launcher"]',
    "message": '[data-testid="chatkey-message"]',
    "send": '[data-testid="chatkey-send"]',
    "lines": '[data-testid="chatkey-conversation"] li > p',
    "sign_in": '[data-testid="chatkey-sign-in"]',
    "social": '[data-testid="chatkey-social-{social}"]',
    "log_out": '[data-testid="chatkey-sign-out"]',
}
"""Playwright selectors for our widget.

They find the button that opens it, the message box, the send button, the texts of the conversation, the button that
leads to the sign-in (may be empty), a social provider's button, and the sign-out button.
"""


class DrivenWidget:
    """The widget in one tab of a business's shop."""

    def __init__(
        self, page: Page, business: Business, witness: Witness, selectors: Mapping[str, str], patience: float = PATIENCE
    ) -> None:
        self.page = page
        self.business = business
        self.witness = witness
        self._selectors = {**OURS, **selectors}
        self._patience = patience

    # actions of a person

    def visit(self) -> str:
        """Open the shop, wait until the service has accepted the widget, and return the uid."""
        return self._connecting(lambda: self.page.goto(self.business.url))

    def reload(self) -> str:
        """Reload the page, wait until the service has accepted the widget, and return the uid."""
        return self._connecting(self.page.reload)

    def enter_shop(self, name: str = ADA) -> str:
        """Sign in to the shop, and return the uid of the member whom the service accepts."""
        self.page.get_by_role("button", name=name).click()
        return self.wait_for_member()

    def open(self) -> None:
        """Open the widget if its message box is hidden."""
        if not self._part("message").is_visible():
            self._part("open").click()
            expect(self._part("message")).to_be_visible()

    def send(self, text: str) -> None:
        """Write a message, send it, and wait until the conversation shows it."""
        self.open()
        self._part("message").fill(text)
        self._part("send").click()
        expect(self._part("lines").filter(has_text=text)).to_be_visible()

    def lines(self, count: int) -> list[str]:
        """Wait for `count` messages and return their texts."""
        self.open()
        expect(self._part("lines")).to_have_count(count)
        return self._part("lines").all_inner_texts()

    def sign_in(self, social: str) -> ConsentPage:
        """Press a social provider's button and return its consent page."""
        self.open()
        button = self._part("social", social=social)
        if not button.is_visible() and self._selectors["sign_in"]:
            self._part("sign_in").click()
        with self.page.expect_popup() as popup:
            button.click()
        return ConsentPage(popup.value).wait()

    def log_out(self) -> None:
        """Press the widget's sign-out button."""
        self.open()
        self._part("log_out").click()

    # traffic of the page

    @property
    def connections(self) -> list[dict[str, str]]:
        """The `connect` frames sent so far, oldest first."""
        return self.witness.frames(Kind.CONNECT)

    def wait_for_connection(self, count: int) -> None:
        """Wait until the service has accepted `count` connections of the page."""
        self.until(lambda: len(self.witness.accepted) >= count, f"{count} accepted connections")

    def wait_for_member(self) -> str:
        """Wait until the last connection that the service accepted is a member's, and return the uid."""
        self.until(lambda: self._last().get("identity") == "member", "an accepted connection of a member")
        return str(self._last()["uid"])

    def wait_for_visitor(self) -> str:
        """Wait until the last connection that the service accepted is a visitor's, and return the uid."""
        self.until(lambda: self._last().get("identity") == "visitor", "an accepted connection of a visitor")
        return str(self._last()["uid"])

    def wait_until_stored(self) -> None:
        """Wait until the service has acknowledged every message that the page sent."""
        ids = {frame["id"] for frame in self.witness.frames(Kind.MESSAGE)}
        self.until(lambda: ids <= set(self.witness.acknowledged), "an acknowledgement for every message")

    def until(self, happened: Callable[[], bool], what: str) -> None:
        """Wait until `happened` returns true. After the timeout, raise an `AssertionError` that contains `what`.

        After a refused proof, the timeout is short: a widget that proves wrongly is always refused.
        """
        left = int(self._patience * 1000 / LOOK_MS)
        while left > 0:
            if happened():
                return
            self.page.wait_for_timeout(LOOK_MS)
            left = min(left, AFTER_REFUSAL_MS // LOOK_MS if self.witness.refusal else left) - 1
        refusal = f"; the service refused the proof: {json.dumps(self.witness.refusal)}" if self.witness.refusal else ""
        raise AssertionError(f"waited in vain for: {what}{refusal}\n{widget_state(self.page)}".strip())

    def asked(self, beginning: str) -> int:
        """Return the number of requests whose path starts with `beginning`."""
        return sum(urlsplit(request.url).path.startswith(beginning) for request in self.witness.requests)

    def requests(self, ending: str) -> list[Request]:
        """Return the requests whose path ends with `ending`, oldest first."""
        return [request for request in self.witness.requests if urlsplit(request.url).path.endswith(ending)]

    def wait_for_answer(self, ending: str) -> None:
        """Wait until the page has requested a path that ends with `ending`, and has received an answer."""
        self.until(lambda: bool(self.requests(ending)), f"a request of {ending}")
        self.requests(ending)[-1].response()

    # the cached member token

    def stored_token(self) -> str | None:
        stored: str | None = self.page.evaluate("(key) => localStorage.getItem(key)", self.business.storage_key)
        return stored

    def store_token(self, token: str) -> None:
        """Cache a token, as an earlier visit would have done."""
        self.page.evaluate("([key, value]) => localStorage.setItem(key, value)", [self.business.storage_key, token])

    def _connecting(self, act: Callable[[], object]) -> str:
        count = len(self.witness.accepted)
        act()
        self.wait_for_connection(count + 1)
        return str(self._last()["uid"])

    def _last(self) -> dict[str, object]:
        return self.witness.accepted[-1] if self.witness.accepted else {}

    def _part(self, name: str, **values: str) -> Locator:
        return self.page.locator(self._selectors[name].format(**values) if values else self._selectors[name])
