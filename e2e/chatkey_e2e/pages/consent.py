"""The fake provider's consent page, in the popup."""

from typing import Self

from playwright.sync_api import Locator, Page


class ConsentPage:
    """One popup at a social provider."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def wait(self) -> Self:
        """Wait until the consent page has loaded in the popup, which first shows other pages."""
        self.continue_button.wait_for()
        return self

    def approve(self, person: str | None = None) -> None:
        """Approve as `person`, or as the person who is already selected."""
        if person:
            self.page.get_by_role("radio", name=person).check()
        self.continue_button.click()

    def approve_and_wait_in_vain(self) -> None:
        """Approve without waiting for a response, because the provider sends none."""
        self.continue_button.click(no_wait_after=True)

    def deny(self) -> None:
        self.page.get_by_role("button", name="Cancel").click()

    def rename(self, first: str, last: str) -> None:
        """Enter a name that differs from the account's, as Apple allows at the first sign-in."""
        self.page.get_by_role("textbox", name="First name").fill(first)
        self.page.get_by_role("textbox", name="Last name").fill(last)

    def hide_email(self) -> None:
        """Share a relay address in place of the person's own address, as Apple allows."""
        self.page.get_by_role("radio", name="Hide my e-mail").check()

    @property
    def application(self) -> str:
        """The name of the application that requests the login."""
        return self.page.get_by_text("to continue to").get_by_role("strong").inner_text()

    @property
    def continue_button(self) -> Locator:
        return self.page.get_by_role("button", name="Continue")

    @property
    def menu(self) -> Locator:
        """The control that opens the lab's menu of faults."""
        return self.page.get_by_text("Misbehave", exact=True)

    def fault(self, name: str) -> Locator:
        """Return the checkbox of one fault in the opened menu."""
        return self.page.get_by_role("checkbox", name=name)
