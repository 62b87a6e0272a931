"""The agent panel: conversations, live."""

from playwright.sync_api import Locator, Page, expect


class AgentPage:
    """One agent's tab."""

    def __init__(self, page: Page, service_url: str) -> None:
        self.page = page
        self._url = f"{service_url}/agent"

    def sign_in(self) -> None:
        """Sign in as the lab's agent, and wait until the panel is live."""
        self.page.goto(self._url)
        self.page.get_by_role("button", name="Continue as lab agent").click()
        expect(self.page.get_by_text("Live", exact=True)).to_be_visible()

    def open_conversation(self, customer: str) -> None:
        """Open the conversation of a member by name, or of a visitor by uid."""
        title = f"Visitor {customer[2:8]}" if customer.startswith("v_") else customer
        conversations = self.page.get_by_role("navigation", name="Conversations").get_by_role("listitem")
        conversations.get_by_role("button", name=title).click()
        expect(self.page.get_by_role("heading", name=title)).to_be_visible()

    @property
    def customer(self) -> str:
        """What the panel says of the customer: name, e-mail, uid, login method."""
        return self._conversation.locator("header").inner_text()

    def lines(self, count: int) -> list[str]:
        """Wait for so many messages in the open conversation and return their texts."""
        bodies = self._conversation.get_by_role("log").locator(".bubble")
        expect(bodies).to_have_count(count)
        return bodies.all_inner_texts()

    def answer(self, text: str) -> None:
        """Write an answer and send it."""
        self.page.get_by_role("textbox", name="Answer").fill(text)
        self.page.get_by_role("button", name="Send").click()

    def take_call(self, customer: str) -> None:
        """Accept the call that this customer makes."""
        self.open_conversation(customer)
        self.page.get_by_role("button", name="Accept").click()

    def hang_up(self) -> None:
        """End the call."""
        self.page.get_by_role("button", name="Hang up").click()

    @property
    def _conversation(self) -> Locator:
        return self.page.get_by_role("main", name="Conversation")
