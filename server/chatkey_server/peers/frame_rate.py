"""Limits how many frames per second one socket may send."""

from __future__ import annotations

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.settings import Limits
from chatkey_serving.allowance import Allowance


class FrameRate:
    __slots__ = ("_allowance",)

    def __init__(self, limits: Limits, now: float) -> None:
        self._allowance = Allowance(limits.frames_per_second, now)

    def count(self, now: float) -> None:
        """Count one frame. Raises `Refused(rate_limited)` above the limit."""
        if not self._allowance.take(now):
            raise Refused(Code.RATE_LIMITED, f"More than {self._allowance.per_second} frames arrived within a second.")
