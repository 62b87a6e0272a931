"""A visitor who tries to sign in. The checks cover failed logins, and a successful login at the end."""

from dataclasses import dataclass

from playwright.sync_api import Page, expect

from chatkey_e2e.business import Business
from chatkey_e2e.closing import unless_closing
from chatkey_e2e.pages.consent import ConsentPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.witness import Witness
from chatkey_peer.redaction import JWT

CANCELLED = "The sign-in was cancelled."
FAILED = "The sign-in failed. Please try again."
CLOSED = "The sign-in window was closed."
BLOCKED = "Your browser blocked the sign-in window. Allow pop-ups for this page and press the button again."
LOST = "This page has lost contact with the sign-in window, so the sign-in cannot be completed here."


@dataclass
class Visitor:
    """A person in the shop of `business` who is not a member yet."""

    widget: WidgetPage
    business: Business
    witness: Witness

    def __post_init__(self) -> None:
        self.uid = self.widget.uid

    def asks(self, social: str) -> ConsentPage:
        """Click the button of a social provider, and return the provider's consent page."""
        return self.widget.sign_in_with(social)

    def presses(self, social: str) -> Page:
        """Click the button of a social provider, and return the popup, regardless of its content."""
        return self.widget.start_signing_in(social).page

    def looks_around(self) -> None:
        """Wait until the widget has noticed that the popup shows the provider."""
        self.widget.wait_for_event("oauth:opened")

    def closes(self, popup: Page) -> None:
        """Close the popup after the widget has noticed that the popup shows the provider."""
        self.looks_around()
        popup.close()

    def is_told(self, social: str, code: str, words: str, *, members: int = 0) -> None:
        """Check that the page got this code, that the person read these words, and that the login had no other effect.

        `members` is the number of member records that must exist.
        """
        assert self.widget.wait_for_event("oauth:failed") == {"social": social, "code": code}
        self.widget.wait_for_error(code)
        expect(self.widget.panel.get_by_role("alert").get_by_role("paragraph")).to_have_text(words)
        if (records := self.business.records) is not None:
            assert len(records) == members
        self.keeps_nothing()
        self.chats_on()

    def chats_on(self) -> None:
        """Check that the visitor is the same as before and can send a message."""
        self.widget.turn_back()
        self.widget.send("I am still here")
        assert (self.widget.identity["identity"], self.widget.uid) == ("visitor", self.uid)

    def keeps_nothing(self) -> None:
        """Check that neither the shop's storage nor an open window of this browser contains an identity token."""
        pages = [page for page in self.widget.page.context.pages if page.url.startswith("http")]
        assert self.widget.stored(self.business.storage_key) is None
        assert self.witness.identity_tokens == []
        assert [page.url for page in pages if JWT.search(unless_closing(page, page.content, "").encode())] == []

    def comes_in(self, social: str) -> None:
        """Click the button of a social provider, approve, and check that the visitor becomes a member."""
        self.asks(social).approve()
        self.widget.wait_for("member")
        if (records := self.business.records) is not None:
            assert [self.widget.uid] == [record["uid"] for record in records]

    @property
    def members(self) -> list[dict[str, object]]:
        return self.business.stack.service_lab.members(self.business.provider.id)
