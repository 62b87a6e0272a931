"""The fake provider's consent page, in the popup."""

from playwright.sync_api import Page


class ConsentPage:
    """One popup at a social provider."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def approve(self, person: str | None = None) -> None:
        """Approve, as a person by name or as the one who is chosen already."""
        if person:
            self.page.get_by_role("radio", name=person).check()
        self.page.get_by_role("button", name="Continue").click()

    def deny(self) -> None:
        """Decline."""
        self.page.get_by_role("button", name="Cancel").click()

    @property
    def application(self) -> str:
        """The name of the application that asks."""
        return self.page.get_by_text("to continue to").get_by_role("strong").inner_text()
