"""The admin panel in an administrator's tab."""

import re

from playwright.sync_api import Locator, Page, expect


class AdminPage:
    """One administrator's tab."""

    def __init__(self, page: Page, service_url: str) -> None:
        self.page = page
        self._url = f"{service_url}/admin/"

    def sign_in(self, username: str, password: str) -> None:
        """Sign in, and wait for the panel's greeting."""
        self.page.goto(self._url)
        self.page.locator("input[name=username]").fill(username)
        self.page.locator("input[name=password]").fill(password)
        self.page.keyboard.press("Enter")
        expect(self.page.get_by_role("heading", name="Welcome to chatkey admin")).to_be_visible()

    def show(self, table: str) -> None:
        """Open a table's page through its address, because the form pages have no menu."""
        self.page.goto(f"{self._url}#/{table}")

    def add(self, table: str) -> None:
        """Show a table, and open the form that adds a row."""
        self.show(table)
        self.page.get_by_text(re.compile("^\\s*add\\s*$", re.IGNORECASE)).click()
        expect(self._form.get_by_role("button", name=re.compile("create|save", re.IGNORECASE))).to_be_visible()

    def choose_business(self, name: str) -> None:
        """Choose the business that the row belongs to."""
        self._form.get_by_placeholder("None").first.click()
        self._form.get_by_placeholder("Type here to filter").fill(name)
        self._form.locator(".results_list").get_by_role("link", name=name).click()

    def choose(self, member: str, value: str) -> None:
        self._form.locator(f"select[name={member}]").select_option(value)

    def fill(self, member: str, value: str) -> None:
        self.field(member).fill(value)

    def field(self, member: str) -> Locator:
        return self._form.locator(f"[name={member}]")

    def save(self) -> None:
        """Press the form's Save or Create button."""
        self._form.get_by_role("button", name=re.compile("create|save", re.IGNORECASE)).click()

    @property
    def _form(self) -> Locator:
        return self.page.locator("form").first
