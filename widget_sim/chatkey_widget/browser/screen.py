"""The widget on the screen: a launcher and a panel in a shadow root. Only changed parts are drawn again."""

import asyncio
from collections.abc import Callable
from importlib.resources import files
from typing import Any, Final

import js
from pyodide.ffi import JsException

from chatkey_widget import events
from chatkey_widget.browser.call_bar import CallBar, said
from chatkey_widget.browser.dom import element, icon, set_attribute
from chatkey_widget.browser.js_values import Listeners, member
from chatkey_widget.browser.panel import Panel
from chatkey_widget.browser.words import Words
from chatkey_widget.colour import text_on
from chatkey_widget.view import Appearance, View

TYPING: Final = (
    "keydown",
    "keypress",
    "keyup",
    "beforeinput",
    "input",
    "compositionstart",
    "compositionupdate",
    "compositionend",
    "copy",
    "cut",
    "paste",
)
"""The events of typing that would leave the shadow tree. A page can still listen in the capture phase."""

FIRST_SECONDS: Final = 0.05
"""How long the first view waits, in seconds, so that the widget connects first.

Drawing takes as long as all steps of connecting together, and both need Python.
"""

PINCHED: Final = 0.01
"""The difference from scale 1 from which a page counts as pinched. Browsers round the scale."""

STYLE: Final = files("chatkey_widget.browser").joinpath("widget.css").read_text(encoding="utf-8")


class BrowserScreen:
    """Draws views, and converts the person's actions into events.

    The page stays unchanged until there is something to show.
    """

    def __init__(self, feed: Callable[[events.Event], None]) -> None:
        self._feed = feed
        self._listeners = Listeners()
        self._view = View()
        self._first_view = View()
        self._first_due: asyncio.TimerHandle | None = None
        self._host: Any = None
        self._root: Any = None
        self._launcher: Any = None
        self._badge: Any = None
        self._panel: Panel | None = None
        self._call_bar: CallBar | None = None
        self._words: Words | None = None
        self._draft = ""

    def show(self, view: View) -> None:
        """Draw a view. The first view is drawn after `FIRST_SECONDS`."""
        if self._host is not None:
            self._draw(view)
            self._view = view
            return
        self._first_view = view
        if view.visible and self._first_due is None:
            self._first_due = asyncio.get_running_loop().call_later(FIRST_SECONDS, self._show_first)

    def give_back(self, text: str) -> None:
        """Put a text that was not sent back into the message box, after the text that is there."""
        if self._panel is None:
            self._draft = _joined(self._draft, text)
        else:
            self._panel.chat.draft = _joined(self._panel.chat.draft, text)

    def show_level(self, level: float) -> None:
        """Show the level of the microphone, from 0 to 1."""
        if self._call_bar is not None:
            self._call_bar.show_level(level)

    def remove(self) -> None:
        if self._first_due is not None:
            self._first_due.cancel()
        self._listeners.remove_all()
        self._remove_panel()
        if self._host is not None:
            self._host.remove()

    def _show_first(self) -> None:
        self._first_due = None
        if self._first_view.visible:
            self._build()
            self.show(self._first_view)

    def _build(self) -> None:
        self._badge = element("span", class_="badge", hidden="")
        self._launcher = element(
            "button",
            icon("chat"),
            icon("close"),
            self._badge,
            class_="launcher",
            type="button",
            aria_expanded="false",
            data_testid="chatkey-launcher",
        )
        self._root = element("div", self._launcher, class_="root")
        self._host = element("chatkey-widget")
        shadow = self._host.attachShadow(js.JSON.parse('{"mode": "open"}'))
        _style(shadow)
        shadow.append(self._root)
        self._listeners.add(self._launcher, "click", lambda _event: self._toggle())
        self._listeners.add(self._root, "keydown", self._key_pressed)
        for name in TYPING:
            self._listeners.add(self._root, name, self._keep_from_page)
        viewport = member(js, "visualViewport")
        if viewport:
            for name in ("resize", "scroll"):
                self._listeners.add(viewport, name, lambda _event: self._fit(viewport))
        js.document.body.append(self._host)
        _lift(self._root)

    def _fit(self, viewport: Any) -> None:
        """Keep the panel above a phone's keyboard, which covers the page. Ignore that a person has zoomed in."""
        is_pinched = abs(viewport.scale - 1) > PINCHED
        top = 0 if is_pinched else viewport.offsetTop
        keyboard = 0 if is_pinched else max(0, js.innerHeight - viewport.height - top)
        self._root.style.setProperty("--top", f"{top:.0f}px")
        self._root.style.setProperty("--keyboard", f"{keyboard:.0f}px")

    def _draw(self, view: View) -> None:
        old = self._view
        words = self._words
        if words is None or words.locale != view.locale:
            words, old = self._speak(view.locale), View()
        fresh = self._panel is None
        if view.appearance != old.appearance or not old.visible:
            self._dress(view.appearance)
        told = (view.open, view.unread, view.call, view.sound)
        if told != (old.open, old.unread, old.call, old.sound) or not old.visible:
            self._draw_launcher(view, words)
        if view.open and self._panel is None:
            self._panel = Panel(self._feed, words)
            self._root.prepend(self._panel.element)
            self._panel.chat.draft = self._draft
        self._draw_call(view, words)
        if self._panel is None:
            return
        self._panel.show(view, View() if fresh else old)
        if view.open != old.open:
            self._move_focus(view)

    def _draw_call(self, view: View, words: Words) -> None:
        """Show the call in the open panel, or beside the launcher, so that an open microphone is always visible."""
        if self._call_bar is None:
            if view.call == "none":
                return
            self._call_bar = CallBar(self._feed, words)
        self._call_bar.show(view)
        if self._panel is not None and view.open:
            self._panel.take(self._call_bar.element)
        elif self._launcher.nextSibling != self._call_bar.element:
            self._launcher.after(self._call_bar.element)

    def _speak(self, locale: str) -> Words:
        """Switch to a language. The panel is created again with the texts of this language."""
        self._words = words = Words(locale)
        self._root.lang = locale
        self._root.dir = words.texts.direction
        self._remove_panel()
        return words

    def _remove_panel(self) -> None:
        if self._panel is not None:
            self._draft = self._panel.chat.draft
            self._panel.release()
            self._panel = None
        if self._call_bar is not None:
            self._call_bar.release()
            self._call_bar = None

    def _dress(self, appearance: Appearance) -> None:
        self._root.style.setProperty("--accent", appearance.colour)
        self._root.style.setProperty("--on-accent", text_on(appearance.colour))
        self._root.dataset.position = appearance.position

    def _draw_launcher(self, view: View, words: Words) -> None:
        texts, count = words.texts, words.number
        news = [texts.unread.format(count=count(view.unread))] if view.unread else []
        if view.call != "none":
            news.append(said(view, words))
        label = texts.close if view.open else texts.open
        self._launcher.setAttribute("aria-label", f"{label} ({', '.join(news)})" if news else label)
        self._launcher.dataset.call = view.call
        self._launcher.setAttribute("aria-expanded", str(view.open).lower())
        self._badge.textContent = count(min(view.unread, 99))
        set_attribute(self._badge, "hidden", None if view.unread else "")

    def _move_focus(self, view: View) -> None:
        if view.open and self._panel is not None:
            self._panel.focus()
        else:
            self._launcher.focus()

    def _toggle(self) -> None:
        self._feed(events.PanelToggled(open=not self._view.open))

    def _key_pressed(self, event: Any) -> None:
        if event.key == "Escape" and self._view.open:
            event.stopPropagation()
            self._feed(events.PanelToggled(open=False))

    def _keep_from_page(self, event: Any) -> None:
        """Let the page's hotkeys see no keys of the chat: for the page, their target is no text field.

        On the launcher, only the keys that press it are the chat's.
        """
        if not self._launcher.contains(event.target) or member(event, "key") in {"Enter", " "}:
            event.stopPropagation()


def _lift(root: Any) -> None:
    """Draw above the page, in the browser's top layer: there, no transformed ancestor moves the launcher."""
    if not member(root, "showPopover"):
        return
    root.popover = "manual"
    try:
        root.showPopover()
    except JsException:  # in a document that is being replaced; the style sheet shows the widget in any case
        root.removeAttribute("popover")


def _style(shadow: Any) -> None:
    """Add the style sheet. A page's policy may block an element `style`, so this is only for older browsers."""
    try:
        sheet = js.CSSStyleSheet.new()
        sheet.replaceSync(STYLE)
        _ = shadow.adoptedStyleSheets  # without this check, an older browser would just get another member
        shadow.adoptedStyleSheets = js.Array.of(sheet)
    except (AttributeError, JsException):
        shadow.append(element("style", text=STYLE))


def _joined(draft: str, text: str) -> str:
    return f"{draft}\n{text}" if draft else text
