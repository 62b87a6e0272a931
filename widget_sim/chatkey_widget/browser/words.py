"""A language as the screen needs it: the texts, and numbers and times as its readers write them."""

from typing import Any

import js

from chatkey_widget.texts import speaking


class Words:
    """One language, by its tag."""

    def __init__(self, locale: str) -> None:
        self.locale = locale
        self.texts = speaking(locale)
        self._numbers = js.Intl.NumberFormat.new(locale)
        self._times = js.Intl.DateTimeFormat.new(locale, js.JSON.parse('{"timeStyle": "short"}'))

    def number(self, value: int) -> str:
        """Write a number."""
        return str(self._numbers.format(value))

    def clock(self, time: Any) -> str:
        """Write the time of day of a JS date."""
        return str(self._times.format(time))
