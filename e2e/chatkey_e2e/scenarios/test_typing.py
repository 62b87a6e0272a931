"""Tests what people type and paste: it arrives or comes back, and the page's hotkeys do not see it."""

import pytest
from playwright.sync_api import Locator, Page, expect

from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.witness import Witness

pytestmark = pytest.mark.long

TYPE = """(box, units) => {
  box.value = String.fromCharCode(...units);
  box.dispatchEvent(new Event("input", { bubbles: true }));
}"""

PASTE = """(box, units) => {
  box.focus();
  document.execCommand("insertText", false, String.fromCharCode(...units));
}"""

HOTKEYS = """() => {
  window.pressed = [];
  window.captured = [];
  const isField = (target) => ["INPUT", "TEXTAREA"].includes(target.tagName);
  for (const name of ["keydown", "keypress", "keyup", "input", "beforeinput", "paste", "copy"]) {
    document.addEventListener(name, (event) => {
      if (isField(event.target)) return;
      pressed.push(event.key ?? name);
      if (["s", "o", " ", "Enter"].includes(event.key)) event.preventDefault();
    });
  }
  document.addEventListener("keydown", ({ key, target }) => captured.push([key, target.localName]), true);
}"""

COMPOSED_ENTER = """(box) => {
  const enter = { key: "Enter", keyCode: 229, bubbles: true, cancelable: true, composed: true };
  return box.dispatchEvent(new KeyboardEvent("keydown", enter));
}"""


def box(widget: WidgetPage) -> Locator:
    """Open the panel and return the message box."""
    return widget.open().get_by_role("textbox", name="Message")


@pytest.mark.parametrize("enter", [TYPE, PASTE], ids=["script", "paste"])
def test_half_a_character_is_sent_as_a_replacement(shop: ShopPage, witness: Witness, enter: str) -> None:
    """F217: a message with unpaired surrogates must arrive, and so must the next one, on the same connection."""
    widget = shop.open()
    for units in ([0x63, 0x75, 0x74, 0x20, 0xD83D], [0xDC4B, 0x21]):
        box(widget).evaluate(enter, units)
        widget.panel.get_by_role("button", name="Send").click()

    widget.send("and the next one")

    assert widget.lines(3) == ["cut \ufffd", "\ufffd!", "and the next one"]
    assert len(witness.sockets) == 1
    assert shop.reload().lines(3) == ["cut \ufffd", "\ufffd!", "and the next one"]


def test_a_message_of_invisible_characters_is_not_sent(shop: ShopPage) -> None:
    """F217: it would look like an empty message."""
    widget = shop.open()
    box(widget).fill("\u200b\u2060")
    box(widget).press("Enter")

    widget.send("visible")

    assert widget.lines(1) == ["visible"]


def test_a_message_that_a_reload_interrupts_is_sent_by_the_next_page(shop: ShopPage) -> None:
    """F220: messages written offline must not vanish with the page, and must be sent once each, in order."""
    widget = shop.open()
    shop.page.context.set_offline(True)
    widget.page.evaluate("() => { for (const name of ['close', 'send']) WebSocket.prototype[name] = () => {}; }")
    for body in ("one", "two"):
        widget.write(body)
    expect(widget.panel.locator('li[data-state="sending"]')).to_have_count(2)
    shop.page.context.set_offline(False)

    shop.reload()

    expect(widget.open().locator('li[data-state="sent"]')).to_have_count(2)
    assert widget.lines(2) == ["one", "two"]
    assert shop.page.evaluate("() => Object.keys(sessionStorage)") == []


def test_the_text_of_a_dropped_message_is_in_the_message_box(shop: ShopPage, page: Page) -> None:
    """F201: a member logs out before the message is acknowledged. The text must be given back after the draft."""
    shop.open()
    widget = shop.sign_in()
    widget.open()
    page.evaluate("() => { WebSocket.prototype.send = () => {}; }")
    widget.write("Is the oak table in stock?")
    box(widget).fill("And")
    page.evaluate("() => { Service.logout(); }")

    expect(widget.panel.get_by_role("alert")).to_contain_text("It is in the message box again")
    expect(box(widget)).to_have_value("And\nIs the oak table in stock?")


def test_the_pages_hotkeys_do_not_see_what_is_typed_in_the_chat(shop: ShopPage) -> None:
    """F221: pages that ignore keys in their own fields must not take keys of the chat for hotkeys."""
    widget = shop.open()
    shop.page.evaluate(HOTKEYS)

    shop.page.get_by_role("button", name="Open chat").focus()
    shop.page.keyboard.press("Enter")
    box(widget).press_sequentially("yes/no so")
    shop.page.keyboard.press("Control+A")
    shop.page.keyboard.press("Control+C")
    shop.page.keyboard.press("Control+V")
    expect(box(widget)).to_have_value("yes/no so")
    shop.page.keyboard.press("Escape")
    shop.page.keyboard.press("j")

    assert shop.page.evaluate("() => pressed") == ["Escape", "j", "j", "j"]
    assert ["y", "chatkey-widget"] in shop.page.evaluate("() => captured")


def test_an_enter_that_ends_a_composition_sends_nothing(shop: ShopPage) -> None:
    """F222: Safari sends this Enter after the composition, with the key code 229. The next Enter must send."""
    widget = shop.open()
    box(widget).fill("\u6771\u4eac")

    assert box(widget).evaluate(COMPOSED_ENTER)
    expect(box(widget)).to_have_value("\u6771\u4eac")
    box(widget).press("Enter")

    assert widget.lines(1) == ["\u6771\u4eac"]
