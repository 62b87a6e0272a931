"""The agent panel, which shows conversations live."""

from playwright.sync_api import Locator, Page, expect


class AgentPage:
    """One agent's tab."""

    def __init__(self, page: Page, service_url: str) -> None:
        self.page = page
        self._url = f"{service_url}/agent"

    def sign_in(self) -> None:
        """Sign in as the lab's agent, and wait until the panel is connected."""
        self.page.goto(self._url)
        self.page.get_by_role("button", name="Continue as lab agent").click()
        expect(self.page.get_by_text("Live", exact=True)).to_be_visible()

    def open_conversation(self, customer: str) -> None:
        """Open a conversation by a member's name or a visitor's uid."""
        title = _title(customer)
        conversations = self.page.get_by_role("navigation", name="Conversations").get_by_role("listitem")
        conversations.get_by_role("button", name=title).click()
        expect(self.page.get_by_role("heading", name=title)).to_be_visible()

    def choose_business(self, provider_id: str) -> None:
        """Limit the list to one business."""
        self.page.get_by_label("Business").select_option(provider_id)

    def show(self, name: str) -> None:
        """Press one of the list's filters."""
        self.page.get_by_role("group", name="Show").get_by_role("button", name=name, exact=True).click()

    def search(self, text: str) -> None:
        self.page.get_by_role("searchbox").fill(text)

    def expect_listed(self, *customers: str) -> None:
        """Wait until the list contains exactly these people. Members are given by name, visitors by uid."""
        titles = [_title(customer) for customer in customers]
        listed = self.page.get_by_role("navigation", name="Conversations").get_by_role("listitem")
        expect(listed.locator(".title")).to_have_text(titles)

    @property
    def customer(self) -> str:
        """The panel's text about the customer: name, e-mail, uid, login method."""
        return self._conversation.locator("header").inner_text()

    def lines(self, count: int) -> list[str]:
        """Wait for `count` messages in the open conversation and return their texts."""
        bodies = self._conversation.get_by_role("log").locator(".bubble")
        expect(bodies).to_have_count(count)
        return bodies.all_inner_texts()

    def answer(self, text: str) -> None:
        """Write an answer and send it."""
        self.page.get_by_role("textbox", name="Answer").fill(text)
        self.page.get_by_role("button", name="Send").click()

    def take_call(self, customer: str) -> None:
        """Accept a call from this customer."""
        self.open_conversation(customer)
        self.page.get_by_role("button", name="Answer").click()

    def hang_up(self) -> None:
        self.page.get_by_role("button", name="Hang up").click()

    @property
    def _conversation(self) -> Locator:
        return self.page.get_by_role("main", name="Conversation")


def _title(customer: str) -> str:
    return f"Visitor {customer[2:8]}" if customer.startswith("v_") else customer
