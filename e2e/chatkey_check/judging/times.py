"""Judges the times in a token: whether they are wrong, by how much, whether they change, and what explains them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from chatkey_check.calls.shared import Calls
from chatkey_check.calls.token import Token
from chatkey_check.exchange import Exchange
from chatkey_check.words import duration

HOUR: Final = 3600
MINUTE: Final = 60
SHORTEST: Final = 50 * MINUTE
LONGEST: Final = 66 * MINUTE
TEN_DIGITS: Final = range(1_000_000_000, 10_000_000_000)
LEEWAY: Final = 60
"""Seconds that a time may be ahead of the clock."""
STALE: Final = 5 * MINUTE
"""A token older than this, in seconds, was not made for the call."""
ROUNDED: Final = (30, 20, 15, 10, 5, 2)
"""Seconds to which people round times."""
ZONE: Final = 15 * MINUTE
SMALLEST_ZONE: Final = 30 * MINUTE
LARGEST_ZONE: Final = 14 * HOUR
ZONE_SLACK: Final = 30
USUAL: Final = (30 * MINUTE, 2 * HOUR, 4 * HOUR, 8 * HOUR, 12 * HOUR)
"""Lifetimes, in seconds, that people choose for their own sessions."""


DIVIDE: Final = "Divide by 1000: Math.floor(Date.now() / 1000)."


def whole(claims: Mapping[str, object], name: str) -> int | None:
    """Return a claim that is a JSON integer, or None."""
    value = claims.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def seconds(claims: Mapping[str, object], name: str) -> int | None:
    """Return a claim that is a time in seconds since 1970, or None."""
    value = whole(claims, name)
    return value if value is not None and value in TEN_DIGITS else None


def left(calls: Calls, exchange: Exchange) -> float:
    """Return the seconds until a call's token expires, by the clock of the server that issued the token."""
    return (seconds(exchange.claims, "exp") or 0) - calls.now_at(exchange)


def shift(calls: Calls, exchange: Exchange) -> float | None:
    """Return how many seconds iat is ahead of the issuing server's clock. Return None if exp is not an hour after iat.

    If the result is not zero, the token's lifetime is correct, but the lifetime begins at the wrong time.
    """
    issued, ends = seconds(exchange.claims, "iat"), seconds(exchange.claims, "exp")
    if issued is None or ends is None or not SHORTEST <= ends - issued <= LONGEST:
        return None
    return issued - calls.now_at(exchange)


def zone_like(ahead: float) -> bool:
    """Return whether a shift looks like a time zone: a multiple of a quarter of an hour."""
    nearest = round(ahead / ZONE) * ZONE
    return SMALLEST_ZONE <= abs(nearest) <= LARGEST_ZONE and abs(ahead - nearest) <= ZONE_SLACK


def stands_still(calls: Calls, token: Token, name: str) -> bool:
    """Return whether a time in the token equals the same time in a token that another browser got seconds later.

    A time that is rounded to the minute stays equal for a while, so such a time is not judged. If the time may be
    rounded to a shorter interval, another call is made after that interval.
    """
    first, later = seconds(token.claims, name), seconds(calls.later.claims, name)
    if first is None or first != later or first % MINUTE == 0:
        return False
    grid = next((size for size in ROUNDED if first % size == 0), 0)
    return not grid or seconds(calls.after(grid + 1).claims, name) == first


TICKS: Final = range(600_000_000_000_000_000, 700_000_000_000_000_000)
"""The ticks of .NET from 1902 to 2219. Nanoseconds since 1970 have one digit more."""


def not_seconds(value: int, what: str) -> str:
    """Return a message for a number that is not a time in seconds since 1970."""
    if value < 0:
        return f"{what} is negative: {value}."
    if value < TEN_DIGITS.start:
        return f"{what} is {value}, which is a duration, not a point in time."
    units = {13: "milliseconds", 16: "microseconds", 19: "nanoseconds"}
    unit = "ticks of .NET (100 nanoseconds since the year 1)" if value in TICKS else units.get(len(str(value)))
    return f"{what} is {value}, which {f'looks like {unit}' if unit else 'is too large for a date'}."


def issued_now(calls: Calls, exchange: Exchange) -> bool:
    """Return whether iat matches the time of the call. If so, the issuing server's clock is right."""
    issued = seconds(exchange.claims, "iat")
    return issued is not None and abs(issued - calls.now_at(exchange)) <= LEEWAY


def lifetime_from_iat(claims: Mapping[str, object]) -> tuple[str, str]:
    """Return a message and a hint for a token whose iat is right but whose exp is wrong."""
    span = (seconds(claims, "exp") or 0) - (seconds(claims, "iat") or 0)
    if span == 0:
        return "the token expires at once: exp equals iat", "Add an hour: exp must be iat + 3600."
    if span in USUAL or _known(span) or not zone_like(span - HOUR):
        return lifetime_cause(span, zone=False)
    what = f"the token is valid for {duration(span)}" if span > 0 else f"the token expired {duration(-span)} ago"
    return what, (
        "exp must be iat + 3600. If your code already adds 3600, exp is computed in a local time zone, unlike iat: use "
        "UTC for both."
    )


def lifetime_cause(span: float, *, zone: bool = True) -> tuple[str, str]:
    """Return a message and a hint for a lifetime that is not an hour. With `zone`, a time zone may be the cause."""
    known = _known(span)
    if known:
        return known
    off = span - HOUR
    if zone and zone_like(off):
        what = f"exp is off by {duration(off)}"
        return what, "The time zone is wrong. Use UTC: time.time(), Date.now(), time(), not a local date."
    if span < 0:
        where = "the time zone and the clock" if zone else "the value that is added to iat"
        return f"the token expired {duration(-span)} ago", f"exp must be now + 3600: check {where}."
    return f"the token is valid for {duration(span)}", "exp must be now + 3600, in seconds."


def _known(span: float) -> tuple[str, str] | None:
    likely = (known for known in LIFETIMES if abs(span - known[0]) <= max(5.0, known[0] * 0.01))
    return next(((what, hint) for _, what, hint in likely), None)


LIFETIMES: Final = (
    (
        3.6,
        "the token is valid for 4 seconds",
        "jsonwebtoken reads the string '3600' as milliseconds: use the number 3600, or '1h'.",
    ),
    (60, "the token is valid for 60 seconds", "60 means seconds, not minutes: exp must be now + 3600."),
    (1, "the token is valid for 1 second", "exp must be now + 3600. 1 means a second, not an hour."),
    (86_400, "the token is valid for a day", "A stolen token works until exp. Set exp to now + 3600."),
    (7 * 86_400, "the token is valid for a week", "A stolen token works until exp. Set exp to now + 3600."),
    (30 * 86_400, "the token is valid for 30 days", "A stolen token works until exp. Set exp to now + 3600."),
    (365 * 86_400, "the token is valid for a year", "A stolen token works until exp. Set exp to now + 3600."),
    (
        HOUR * 1000,
        "the token is valid for 3,600,000 seconds",
        "exp is in seconds, not milliseconds: add 3600, not 3600000.",
    ),
    (HOUR * 60, "the token is valid for 60 hours", "exp is in seconds: 3600 minutes were added. Add 3600 seconds."),
)
