"""Writes counts and durations in words."""

from __future__ import annotations

from typing import Final

ENOUGH: Final = 1.95
"""The smallest amount that is written in a unit. For less, a smaller unit says more."""


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    span = abs(seconds)
    units = ((86_400, "day"), (3600, "hour"), (60, "minute"))
    size, noun = next(((size, noun) for size, noun in units if span >= ENOUGH * size), (1, "second"))
    amount = round(span / size, 1 if size > 1 else 0)
    shown = f"{amount:,.1f}".removesuffix(".0")
    return f"{shown} {noun}{'' if shown == '1' else 's'}"
