"""Tests the widget on a phone: its keyboard, zoom and rounded corners, and what browsers offer to fill in."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import NewContext

pytestmark = [
    pytest.mark.long,
    pytest.mark.only_browser("chromium", because="only Chromium's driver has safe areas and a mobile viewport"),
]

WIDTH, HEIGHT = 390, 844
KEYBOARD = 344

SEE = """([height, offsetTop, scale]) => {
  for (const [name, value] of Object.entries({ height, offsetTop, scale })) {
    Object.defineProperty(visualViewport, name, { configurable: true, get: () => value });
  }
  visualViewport.dispatchEvent(new Event("resize"));
}"""
"""Reports the part of the page that a person sees, as a browser does when its keyboard opens or somebody zooms in."""


@pytest.fixture
def phone(new_context: NewContext) -> BrowserContext:
    return new_context(viewport={"width": WIDTH, "height": HEIGHT}, has_touch=True, is_mobile=True)


def see(page: Page, height: float = HEIGHT, *, top: float = 0, scale: float = 1) -> None:
    page.evaluate(SEE, [height, top, scale])


def place(widget: WidgetPage) -> tuple[float, float]:
    """Return the top and the bottom edge of the panel."""
    box = widget.panel.bounding_box()
    assert box is not None
    return box["y"], box["y"] + box["height"]


def test_the_keyboard_of_a_phone_covers_no_part_of_the_panel(phone: BrowserContext, business: Business) -> None:
    """F230: the panel must end above the keyboard, and must be whole again without it. Zooming in changes nothing."""
    page = phone.new_page()
    widget = ShopPage(page, business).open()
    widget.open()
    expect(widget.panel).to_have_css("transform", "none")

    see(page, HEIGHT - KEYBOARD)
    with_keyboard = place(widget)
    see(page, HEIGHT - KEYBOARD, top=100)
    moved = place(widget)
    see(page, HEIGHT / 2, scale=2)
    zoomed = place(widget)
    see(page)

    assert with_keyboard == (0, HEIGHT - KEYBOARD)
    assert moved == (100, HEIGHT - KEYBOARD + 100)
    assert zoomed == place(widget) == (0, HEIGHT)


def test_no_control_is_under_the_edge_of_a_phone(phone: BrowserContext, business: Business) -> None:
    """F230: a page with `viewport-fit=cover` reaches under rounded corners. The launcher must stay clear of them."""
    page = phone.new_page()
    session = phone.new_cdp_session(page)
    widget = ShopPage(page, business).open()
    launcher = page.locator("chatkey-widget .launcher")
    before = launcher.bounding_box()

    session.send("Emulation.setSafeAreaInsetsOverride", {"insets": {"top": 47, "bottom": 34}})

    after = launcher.bounding_box()
    assert before is not None
    assert after is not None
    assert before["y"] - after["y"] == 34
    expect(widget.open()).to_have_css("padding", "47px 0px 34px")


def test_nothing_is_offered_to_be_filled_in(shop: ShopPage) -> None:
    """F231: a browser must not offer earlier texts, and a password manager must not put its buttons into the fields."""
    panel = shop.open().open()

    for field in (panel.get_by_role("textbox"), panel.locator("input")):
        expect(field).to_have_attribute("autocomplete", "off")
        for name in ("data-1p-ignore", "data-bwignore", "data-lpignore", "data-form-type"):
            expect(field).to_have_attribute(name, {"data-lpignore": "true", "data-form-type": "other"}.get(name, ""))
