"""The pages of the panel: conversation, search, sign-in."""

from collections.abc import Callable
from typing import Any, Final

import js

from chatkey_widget import events
from chatkey_widget.browser.dom import element, icon_button, logo, replace, set_attribute
from chatkey_widget.browser.js_values import Listeners
from chatkey_widget.browser.messages import Messages, avatar
from chatkey_widget.browser.words import Words
from chatkey_widget.chat import MESSAGE_CHARS, SEARCH_CHARS
from chatkey_widget.groups import Placed, placed
from chatkey_widget.in_app import outside
from chatkey_widget.texts import Texts, social_name
from chatkey_widget.typed_text import tidy
from chatkey_widget.view import View

Feed = Callable[[events.Event], None]


NO_AUTOFILL: Final = {
    "autocomplete": "off",
    "data_1p_ignore": "",
    "data_bwignore": "",
    "data_lpignore": "true",
    "data_form_type": "other",
}
"""Attributes that keep browsers and password managers (1Password, Bitwarden, LastPass, Dashlane) out of a field."""


class ChatPage:
    """The page with the messages and the composer."""

    def __init__(self, feed: Feed, listeners: Listeners, words: Words) -> None:
        self._feed = feed
        self._greeting_text = element("p", dir="auto")
        self._greeting = element("div", avatar(""), self._greeting_text, class_="greeting")
        texts = words.texts
        self._older = element("button", type="button", class_="link older", text=texts.older, hidden="")
        self._messages = Messages(element("ol"), words)
        log = element(
            "div",
            self._messages.element,
            role="log",
            aria_label=texts.conversation,
            aria_live="polite",
            tabindex="0",
            data_testid="chatkey-conversation",
        )
        self._input = element(
            "textarea",
            rows="1",
            dir="auto",
            aria_label=texts.message,
            placeholder=texts.write,
            maxlength=str(MESSAGE_CHARS),
            enterkeyhint="send",
            data_testid="chatkey-message",
            **NO_AUTOFILL,
        )
        self._send = icon_button("send", texts.send, class_="send", data_testid="chatkey-send")
        self._form = element("form", self._input, self._send, class_="composer")
        self._scroller = element("div", self._greeting, self._older, log, class_="scroller")
        self.element = element("div", self._scroller, self._form, class_="page")
        listeners.add(self._form, "submit", self._submitted)
        listeners.add(self._send, "click", self._submitted)
        listeners.add(self._input, "keydown", self._key_pressed)
        listeners.add(self._input, "input", lambda _event: self._grow())
        listeners.add(self._older, "click", lambda _event: feed(events.OlderAsked()))

    def show(self, view: View, old: View) -> None:
        self._greeting_text.textContent = view.appearance.greeting
        set_attribute(self._greeting, "hidden", None if view.appearance.greeting and not view.more else "")
        set_attribute(self._older, "hidden", None if view.more else "")
        set_attribute(self._form, "hidden", None if view.appearance.can_chat else "")
        if view.lines != old.lines:
            self._messages.show(placed(view.lines))
        if view.lines[-1:] != old.lines[-1:] or (view.open and not old.open) or _bars(view) != _bars(old):
            self._scroller.scrollTop = self._scroller.scrollHeight

    @property
    def draft(self) -> str:
        """The unsent text in the composer."""
        return str(self._input.value)

    @draft.setter
    def draft(self, text: str) -> None:
        self._input.value = text
        self._grow()

    def focus(self) -> None:
        self._input.focus()

    def _submitted(self, event: Any) -> None:
        event.preventDefault()
        body = self._input.value
        if tidy(body):
            self._input.value = ""
            self._grow()
            self._feed(events.MessageWritten(body))
        self._input.focus()

    def _key_pressed(self, event: Any) -> None:
        if event.key == "Enter" and not event.shiftKey and not _composes(event):
            self._submitted(event)

    def _grow(self) -> None:
        """Make the composer as high as its text. The style sheet limits the height."""
        self._input.style.height = "auto"
        self._input.style.height = f"{self._input.scrollHeight}px"


class SearchPage:
    """The page with a search field and the results."""

    def __init__(self, feed: Feed, listeners: Listeners, words: Words) -> None:
        self._feed = feed
        self._words, texts = words, words.texts
        self._back = icon_button("back", texts.back, class_="quiet", data_testid="chatkey-back")
        self._input = element(
            "input",
            type="search",
            dir="auto",
            aria_label=texts.search_this,
            placeholder=texts.search_this,
            maxlength=str(SEARCH_CHARS),
            enterkeyhint="search",
            data_testid="chatkey-search-text",
            **NO_AUTOFILL,
        )
        self._form = element("form", self._back, self._input, class_="search", role="search")
        self._count = element("p", role="status", class_="count", data_testid="chatkey-search-count")
        self._messages = Messages(element("ol", aria_label=texts.search, data_testid="chatkey-search-results"), words)
        self.element = element(
            "div", self._form, element("div", self._count, self._messages.element, class_="scroller"), class_="page"
        )
        listeners.add(self._back, "click", lambda _event: feed(events.PageChosen("chat")))
        listeners.add(self._form, "submit", self._submitted)
        listeners.add(self._input, "search", self._submitted)

    def show(self, view: View, old: View) -> None:
        if not view.query:
            self._input.value = "" if old.query else self._input.value
        if view.found is None:
            self._count.textContent = ""
        elif view.found:
            self._count.textContent = self._words.texts.found.format(count=self._words.number(len(view.found)))
        else:
            self._count.textContent = self._words.texts.nothing_found
        if view.found != old.found:
            self._messages.show(map(Placed, view.found or ()))

    def focus(self) -> None:
        self._input.focus()

    def _submitted(self, event: Any) -> None:
        event.preventDefault()
        self._feed(events.SearchAsked(self._input.value))


class SignInPage:
    """The page with one button for each social provider that the business has enabled (contract 2.2, 4.4)."""

    def __init__(self, feed: Feed, listeners: Listeners, texts: Texts) -> None:
        self._feed = feed
        self._texts = texts
        self._heading = element("h3", text=texts.sign_in, tabindex="-1")
        self._buttons = element("div", class_="socials")
        self._outside = element("a", text=texts.open_outside, class_="link")
        sentence = element("p", text=texts.notices["open_in_browser"])
        self._elsewhere = element("div", sentence, self._outside, class_="elsewhere", hidden="")
        self._waiting = element("p", role="status", class_="count")
        self._back = element("button", type="button", class_="link", text=texts.back, data_testid="chatkey-back")
        intro = element("p", text=texts.sign_in_intro)
        parts = (self._heading, intro, self._buttons, self._elsewhere, self._waiting, self._back)
        self.element = element("div", *parts, class_="page sign-in")
        listeners.add(self._back, "click", lambda _event: feed(events.PageChosen("chat")))
        listeners.add(self._buttons, "click", self._clicked)

    def show(self, view: View, old: View) -> None:
        if view.appearance.socials != old.appearance.socials or not self._buttons.children.length:
            replace(self._buttons, *(_social_button(social, self._texts) for social in view.appearance.socials))
        set_attribute(self._buttons, "hidden", "" if view.sign_in_elsewhere else None)
        set_attribute(self._elsewhere, "hidden", None if view.sign_in_elsewhere else "")
        address = outside(js.navigator.userAgent, js.location.href)
        set_attribute(self._outside, "href", address)
        set_attribute(self._outside, "hidden", "" if address is None else None)
        self._waiting.textContent = self._texts.waiting_for if view.signing_in else ""

    def focus(self) -> None:
        """Move the focus to the heading, so that screen readers read the page from its beginning."""
        self._heading.focus()

    def _clicked(self, event: Any) -> None:
        """Start the sign-in during the click. Otherwise the browser would block the popup."""
        button = event.target.closest("button")
        if button:
            self._feed(events.SocialClicked(button.dataset.social))


def _composes(event: Any) -> bool:
    """Return whether a key belongs to an input method. Safari ends a composition before the key: code 229 remains."""
    return bool(event.isComposing) or event.keyCode == 229


def _bars(view: View) -> tuple[bool, bool]:
    """Return which of the two bars, notice and call, are visible. They take space from the conversation."""
    return view.notice is not None, view.call != "none"


def _social_button(social: str, texts: Texts) -> Any:
    label = texts.continue_with.format(social=social_name(social))
    return element(
        "button",
        logo(social),
        element("span", text=label),
        type="button",
        class_="social",
        data_social=social,
        data_testid=f"chatkey-social-{social}",
    )
