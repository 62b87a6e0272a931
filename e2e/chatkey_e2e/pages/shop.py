"""The integrator's shop, with the widget in its corner."""

from typing import Literal

from playwright.sync_api import Page

from chatkey_e2e.business import Business
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_stack.site.people import PEOPLE

Csp = Literal["off", "strict", "strict-dynamic", "without-wasm"]
ConfigPlace = Literal["before", "after"]

ADA = "Ada Lindqvist"
TOMAS = "Tomás Okafor"


COVERED = """(button) => {
  const { x, y, width, height } = button.getBoundingClientRect();
  return document.elementFromPoint(x + width / 2, y + height / 2)?.localName === "chatkey-widget";
}"""


class ShopPage:
    """One tab that shows a business's shop."""

    def __init__(self, page: Page, business: Business) -> None:
        self.page = page
        self.business = business
        self.widget = WidgetPage(page)

    def open(self, *, csp: Csp = "off", config: ConfigPlace = "before") -> WidgetPage:
        """Open the shop and wait until its widget is connected."""
        self.visit(csp=csp, config=config)
        self.widget.wait_ready()
        return self.widget

    def visit(self, *, csp: Csp = "off", config: ConfigPlace = "before") -> None:
        """Open the shop without waiting for the widget."""
        variants = {name: value for name, value in (("csp", csp), ("config", config)) if value not in {"off", "before"}}
        query = "&".join(f"{name}={value}" for name, value in variants.items())
        self.page.goto(self.business.url + (f"?{query}" if query else ""))

    def reload(self) -> WidgetPage:
        """Reload the page and wait until its widget is connected."""
        self.page.reload()
        self.widget.wait_ready()
        return self.widget

    def sign_in(self, name: str = ADA) -> WidgetPage:
        """Sign in to the shop, and wait until the widget is connected as a member."""
        self._press(_known(name))
        self.widget.wait_for("member")
        return self.widget

    def sign_in_elsewhere(self, name: str = ADA) -> None:
        """Sign in to the shop in another tab without a widget. All tabs share the session cookie."""
        other = self.page.context.new_page()
        other.route("**/sdk.js", lambda route: route.abort())
        other.goto(self.business.url)
        if (leaving := other.get_by_role("button", name="Leave the shop")).is_visible():
            leaving.click()
        other.get_by_role("button", name=_known(name)).click()
        leaving.wait_for()  # a page closed while loading never reports its request's end
        other.close()

    def leave(self) -> None:
        with self.page.expect_navigation():
            self._press("Leave the shop")

    def _press(self, name: str) -> None:
        """Press a button of the page. On a small screen, close the chat first if it covers the button."""
        button = self.page.get_by_role("button", name=name)
        button.scroll_into_view_if_needed()
        if button.evaluate(COVERED):
            self.widget.close()
        button.click()


def _known(name: str) -> str:
    """Return a name that can sign in at the shops. Raises `LookupError` for any other."""
    names = [known for _, known, _ in PEOPLE]
    if not any(name in known for known in names):
        raise LookupError(f"There is no {name} at the shops; there are {', '.join(names)}.")
    return name
