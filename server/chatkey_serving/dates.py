"""Writes dates of HTTP (RFC 9110 5.6.7). `email.utils` does the same, but takes long to import."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Final

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@lru_cache(maxsize=1)
def http_date(second: int) -> bytes:
    """Return the date of a Unix time. The last one is remembered, because all responses of a second have the same."""
    now = time.gmtime(second)
    day, month = DAYS[now.tm_wday], MONTHS[now.tm_mon - 1]
    return (
        f"{day}, {now.tm_mday:02} {month} {now.tm_year} {now.tm_hour:02}:{now.tm_min:02}:{now.tm_sec:02} GMT".encode()
    )
