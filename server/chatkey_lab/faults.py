"""Defines fault rules. A fault rule makes requests or frames between two peers fail on purpose."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Annotated, Final, Literal

import msgspec

LONGEST_DELAY: Final = 60
TRY_LATER: Final = 1013
"""The close code of a service that is temporarily unable to answer (RFC 6455 7.4, IANA's registry)."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One deliberate failure. Raises `ValueError` for an impossible combination.

    `where` is the beginning of a path (such as `/v1/public/provider/shop/token`, or `/v1/socket` for the handshake), or
    the kind of a socket frame (such as `ready` or `refresh`). If `times` is None, the rule applies until the rule is
    removed.
    """

    where: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    action: Literal["status", "delay", "drop", "close"]
    status: Annotated[int, msgspec.Meta(ge=400, le=599)] = 503
    seconds: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_DELAY)] = 1.0
    code: Annotated[int, msgspec.Meta(ge=1000, le=4999)] = TRY_LATER
    times: Annotated[int, msgspec.Meta(ge=1)] | None = 1

    def __post_init__(self) -> None:
        if self.action == "status" and not self.is_about_path:
            raise ValueError("a frame has no status; use close, delay or drop as its action")

    @property
    def is_about_path(self) -> bool:
        """Whether the rule applies to requests. Otherwise the rule applies to frames."""
        return self.where.startswith("/")


class Armed(msgspec.Struct):
    """An active rule, with the number of times that the rule has been applied."""

    id: int
    rule: Rule
    hits: int = 0

    @property
    def is_spent(self) -> bool:
        """Whether the rule has been applied as often as `times` allows."""
        return self.rule.times is not None and self.hits >= self.rule.times


class _Frame(msgspec.Struct):
    type: str = ""


_read_frame: Final = msgspec.json.Decoder(_Frame)


class Faults:
    """Holds the active rules.

    Applies the first matching rule that is not used up, and calls `on_hit` with that rule.
    """

    def __init__(self, on_hit: Callable[[Armed], None] = lambda _: None) -> None:
        self._ids = count(1)
        self._on_hit = on_hit
        self.armed: dict[int, Armed] = {}

    def arm(self, rule: Rule) -> Armed:
        armed = Armed(next(self._ids), rule)
        self.armed[armed.id] = armed
        return armed

    def hit_path(self, path: str) -> Rule | None:
        """Return the rule for a request with this path, and count the rule as applied.

        Return None if no rule matches.
        """
        return self._hit(lambda rule: rule.is_about_path and path.startswith(rule.where))

    def hit_frame(self, content: str | bytes | None) -> Rule | None:
        """Return the rule for this frame, and count the rule as applied. Return None if no rule matches."""
        if not content or all(armed.rule.is_about_path for armed in self.armed.values()):
            return None
        try:
            kind = _read_frame.decode(content).type
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None  # a rule matches only the kind, and this frame has none
        return self._hit(lambda rule: rule.where == kind)

    def _hit(self, fits: Callable[[Rule], bool]) -> Rule | None:
        for armed in self.armed.values():
            if fits(armed.rule) and not armed.is_spent:
                armed.hits += 1
                self._on_hit(armed)
                return armed.rule
        return None
