"""The texts of one language, and its formats of numbers and times."""

from typing import Any

import js

from chatkey_widget.texts import speaking


class Words:
    """One language, identified by its tag."""

    def __init__(self, locale: str) -> None:
        self.locale = locale
        self.texts = speaking(locale)
        self._numbers = js.Intl.NumberFormat.new(locale)
        self._pairs = js.Intl.NumberFormat.new(locale, js.JSON.parse('{"minimumIntegerDigits": 2}'))
        self._times = js.Intl.DateTimeFormat.new(locale, js.JSON.parse('{"timeStyle": "short"}'))
        self._days = js.Intl.DateTimeFormat.new(locale, js.JSON.parse('{"day": "numeric", "month": "short"}'))

    def number(self, value: int) -> str:
        return str(self._numbers.format(value))

    def when(self, time: Any) -> str:
        """Format the time of day of a JS date. If the date is not today, include the day."""
        clock = str(self._times.format(time))
        today = time.toDateString() == js.Date.new().toDateString()
        return clock if today else f"{self._days.format(time)}, {clock}"

    def duration(self, seconds: int) -> str:
        """Format a duration as minutes and seconds. A duration of an hour or more includes hours: `4:05`, `1:04:05`."""
        minutes, rest = divmod(seconds, 60)
        hours, rest_of_minutes = divmod(minutes, 60)
        if not hours:
            return f"{self.number(minutes)}:{self._pairs.format(rest)}"
        return f"{self.number(hours)}:{self._pairs.format(rest_of_minutes)}:{self._pairs.format(rest)}"
