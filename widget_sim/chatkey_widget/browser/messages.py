"""Messages on the screen: groups of bubbles with the name and picture of the author, the time, and links."""

from collections.abc import Iterable
from typing import Any

import js

from chatkey_widget.addresses import Piece, pieces
from chatkey_widget.browser.dom import element, icon, replace, set_attribute
from chatkey_widget.browser.words import Words
from chatkey_widget.groups import Placed
from chatkey_widget.texts import initials, reason


class Messages:
    """A list of messages. Elements are never replaced, so that screen readers do not read a message again."""

    def __init__(self, empty_list: Any, words: Words) -> None:
        self.element = empty_list
        self._words = words
        self._bubbles: dict[str, Bubble] = {}

    def show(self, messages: Iterable[Placed]) -> None:
        self._bubbles = {message.line.id: self._bubble(message) for message in messages}
        elements = [bubble.element for bubble in self._bubbles.values()]
        for at, each in enumerate(elements):
            there = self.element.children.item(at)
            if not there or not each.isSameNode(there):
                self.element.insertBefore(each, there or None)
        while self.element.children.length > len(elements):
            self.element.lastElementChild.remove()

    def _bubble(self, message: Placed) -> "Bubble":
        bubble = self._bubbles.get(message.line.id) or Bubble(message, self._words)
        bubble.show(message)
        return bubble


class Bubble:
    """One message. Its author and text never change. Its time, its state and its place in a group may change."""

    def __init__(self, message: Placed, words: Words) -> None:
        self._words = words
        self._shown: Placed | None = None
        self._has_picture = message.line.sender == "customer"  # the person's own messages have no picture
        line, texts = message.line, words.texts
        author = texts.you if line.sender == "customer" else line.name or texts.agent
        sender = element("span", text=author, class_="sender")
        body = element("p", *map(_piece, pieces(line.body)), dir="auto")
        self._meta = element("span", class_="meta")
        self.element = element("li", sender, body, self._meta, class_=line.sender)

    def show(self, message: Placed) -> None:
        if message == self._shown:
            return
        if self._shown is None or message.line != self._shown.line:
            self._draw_meta(message)
        if message.is_first and not self._has_picture:
            self._has_picture = True
            self.element.prepend(avatar(message.line.name or ""))
        set_attribute(self.element, "data-first", "" if message.is_first else None)
        set_attribute(self.element, "data-last", "" if message.is_last else None)
        self._shown = message

    def _draw_meta(self, message: Placed) -> None:
        line = message.line
        time = js.Date.new(int(line.sent_at * 1000))
        clock = element("time", datetime=time.toISOString(), text=self._words.when(time))
        state = self._words.texts.states[line.state]
        if line.reason:
            state = f"{state}: {reason(self._words.texts, line.reason)}"
        replace(self._meta, clock, *([f" · {state}"] if state else []))
        self.element.dataset.state = line.state


def avatar(name: str) -> Any:
    """Create the round picture of an author. The picture shows initials or, without a name, a chat icon."""
    letters = initials(name)
    return element("span", letters or icon("chat"), class_="avatar", aria_hidden="true")


def _piece(piece: Piece) -> Any:
    """Create a part of a message. An address is written from left to right, even in a text from right to left."""
    if not piece.is_address:
        return piece.text
    return element("a", text=piece.text, href=piece.text, target="_blank", rel="noopener noreferrer", dir="ltr")
