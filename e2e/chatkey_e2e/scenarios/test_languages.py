"""Tests the languages of the widget, including right-to-left ones."""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.plugin import Advance, MakeBusiness, NewContext
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.long


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of the widget in one language, and its text direction."""

    direction: str
    open: str
    close: str
    message: str
    conversation: str
    online: str
    time: str
    send: str
    search: str
    searchbox: str
    found: str
    back: str
    sign_in: str
    google: str


GERMAN = Words(
    direction="ltr",
    open="Chat öffnen",
    close="Chat schließen",
    message="Nachricht",
    conversation="Unterhaltung",
    online="Verbunden",
    time=r"^\d\d:\d\d$",
    send="Senden",
    search="Suchen",
    searchbox="Diese Unterhaltung durchsuchen",
    found="1 gefunden",
    back="Zurück zur Unterhaltung",
    sign_in="Anmelden",
    google="Weiter mit Google",
)
ARABIC = Words(
    direction="rtl",
    open="فتح المحادثة",
    close="إغلاق المحادثة",
    message="الرسالة",
    conversation="المحادثة",
    online="متصل",
    time="[صم]$",
    send="إرسال",
    search="بحث",
    searchbox="البحث في هذه المحادثة",
    found=r"عدد النتائج: \d",
    back="العودة إلى المحادثة",
    sign_in="تسجيل الدخول",
    google="المتابعة باستخدام \u2068Google\u2069",
)

WISH = """(locale) => Object.defineProperty(window, "ServiceConfig", {
  configurable: true,
  set: (config) => Object.defineProperty(window, "ServiceConfig", { value: { ...config, locale } }),
})"""


def wish_for(page: Page, locale: str) -> None:
    """Set `locale` in the page's configuration, as the page's author would."""
    page.add_init_script(f"({WISH})({locale!r})")


def root(page: Page) -> dict[str, Any]:
    """Return the `lang` and `dir` attributes of the widget."""
    found: dict[str, Any] = page.locator("chatkey-widget .root").evaluate("({ lang, dir }) => ({ lang, dir })")
    return found


def side(box: Locator, *, of: Locator) -> str:
    """Return the side of `of` on which the box lies."""
    inner, outer = box.bounding_box(), of.bounding_box()
    assert inner is not None
    assert outer is not None
    return "left" if inner["x"] - outer["x"] < outer["x"] + outer["width"] - inner["x"] - inner["width"] else "right"


@pytest.mark.needs("social:google", "widget-languages")
@pytest.mark.contract("D-12/language")
@pytest.mark.parametrize(
    ("locale", "words", "end"), [("de", GERMAN, "right"), ("ar", ARABIC, "left")], ids=["de", "ar"]
)
def test_a_conversation_in_the_language_of_the_page(
    page: Page, make_business: MakeBusiness, locale: str, words: Words, end: str
) -> None:
    """All texts must be in the page's language, and the person's own messages must be at the end of the line."""
    shop = ShopPage(page, make_business(get_token=False, service_keys=["google"]))
    wish_for(page, locale)
    shop.open()

    page.get_by_role("button", name=words.open).click()
    panel = page.get_by_role("dialog")
    panel.get_by_role("textbox", name=words.message).fill("Hello, السلام عليكم")
    panel.get_by_role("button", name=words.send).click()
    own = panel.get_by_role("log", name=words.conversation).locator('li[data-state="sent"]')
    expect(own).to_have_count(1)

    expect(own.locator("time")).to_have_text(re.compile(words.time))
    assert root(page) == {"lang": locale, "dir": words.direction}
    assert side(own, of=panel) == end
    assert side(panel.get_by_role("button", name=words.close), of=panel) == end
    assert side(panel.get_by_role("heading").locator("bdi"), of=panel) != end
    assert panel.get_by_role("textbox").evaluate("(box) => getComputedStyle(box).direction") == words.direction
    expect(panel.get_by_role("status").first).to_have_text(words.online)
    panel.get_by_role("button", name=words.search, exact=True).click()
    panel.get_by_role("searchbox", name=words.searchbox).fill("hello")
    panel.get_by_role("searchbox").press("Enter")
    expect(panel.get_by_text(re.compile(words.found))).to_be_visible()
    panel.get_by_role("button", name=words.back).filter(visible=True).click()
    panel.get_by_role("button", name=words.sign_in, exact=True).click()
    expect(panel.get_by_role("button", name=words.google)).to_be_visible()


@pytest.mark.needs("change", "widget-languages")
@pytest.mark.contract("D-12/language")
def test_without_a_wish_of_page_or_business_the_browser_is_asked(
    new_context: NewContext, business: Business, stack: Stack
) -> None:
    """If neither page nor business sets a language, the widget must use the browser's language."""
    stack.service_lab.change_provider(business.provider.id, ui_locale="")
    shop = ShopPage(new_context(locale="de-AT").new_page(), business)

    shop.open()

    expect(shop.page.get_by_role("button", name=GERMAN.open)).to_be_visible()
    assert root(shop.page)["lang"] == "de-AT"


@pytest.mark.needs("change", "widget-languages")
@pytest.mark.contract("D-12/language")
def test_the_businesss_language_comes_before_the_browsers(
    new_context: NewContext, business: Business, stack: Stack
) -> None:
    """The language that is set for the business must take precedence over the browser's language."""
    stack.service_lab.change_provider(business.provider.id, ui_locale="ar")
    shop = ShopPage(new_context(locale="de-AT").new_page(), business)

    shop.open()

    expect(shop.page.get_by_role("button", name=ARABIC.open)).to_be_visible()


@pytest.mark.needs("change", "clock", "widget-languages")
@pytest.mark.contract("D-12/language")
def test_a_language_that_changes_while_one_writes_takes_nothing_away(
    advance: Advance, shop: ShopPage, business: Business, stack: Stack
) -> None:
    """A language change must reach the open panel. The unsent text and the focus must stay."""
    widget = shop.open()
    widget.open().get_by_role("textbox", name="Message").fill("Half a sent")
    stack.service_lab.change_provider(business.provider.id, ui_locale="de")

    with widget.expect_event("configuration:loaded"):
        advance(61)

    box = widget.panel.get_by_role("textbox", name=GERMAN.message)
    expect(box).to_be_focused()
    expect(box).to_have_value("Half a sent")


@pytest.mark.needs("widget-languages")
def test_a_locale_that_is_no_text_is_told_and_the_chat_is_there(shop: ShopPage) -> None:
    """A `locale` that is not a string must cause `config_invalid`, and the visitor can chat in another language."""
    shop.page.add_init_script(f"({WISH})(49)")

    widget = shop.open()

    (error,) = widget.events("error")
    assert error["code"] == "config_invalid"
    assert "locale" in error["message"]
    widget.send("Good morning")
