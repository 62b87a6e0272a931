"""The fake provider's consent page, in the popup."""

from typing import Self

from playwright.sync_api import Locator, Page


class ConsentPage:
    """One popup at a social provider."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def wait(self) -> Self:
        """Wait until it is there: before, whoever reads or moves the popup meets the page it comes from."""
        self.continue_button.wait_for()
        return self

    def approve(self, person: str | None = None) -> None:
        """Approve, as a person by name or as the one who is chosen already."""
        if person:
            self.page.get_by_role("radio", name=person).check()
        self.continue_button.click()

    def approve_and_wait_in_vain(self) -> None:
        """Approve where no answer will come."""
        self.continue_button.click(no_wait_after=True)

    def deny(self) -> None:
        """Decline."""
        self.page.get_by_role("button", name="Cancel").click()

    def rename(self, first: str, last: str) -> None:
        """Be called otherwise than the account, as Apple lets people choose the first time."""
        self.page.get_by_role("textbox", name="First name").fill(first)
        self.page.get_by_role("textbox", name="Last name").fill(last)

    def hide_email(self) -> None:
        """Share an address that relays instead of one's own, at Apple."""
        self.page.get_by_role("radio", name="Hide my e-mail").check()

    @property
    def application(self) -> str:
        """The name of the application that asks."""
        return self.page.get_by_text("to continue to").get_by_role("strong").inner_text()

    @property
    def continue_button(self) -> Locator:
        """What approves."""
        return self.page.get_by_role("button", name="Continue")

    @property
    def menu(self) -> Locator:
        """The lab's menu of faults, and what opens it."""
        return self.page.get_by_text("Misbehave", exact=True)

    def fault(self, name: str) -> Locator:
        """The box of one fault in the opened menu."""
        return self.page.get_by_role("checkbox", name=name)
