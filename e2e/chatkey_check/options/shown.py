"""Formats the options of a run for a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from chatkey_check.evidence.masks import HIDDEN
from chatkey_check.options.table import OPTIONS, Given, Kind, Option

PAIRS: Final = frozenset({Kind.FIELD, Kind.PAIR, Kind.VARIABLE})


def shown(given: Given) -> dict[str, str]:
    """Return the options that were used, with secrets masked. Single values come first, headers last."""
    used = [option for option in OPTIONS if option.in_report and getattr(given, option.field)]
    used.sort(key=lambda option: (option.many, option.kind is Kind.HEADER, option.kind in PAIRS))
    return {f"--{option.name}": _text(option, getattr(given, option.field)) for option in used}


def _text(option: Option, value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(MASKED.get(option.kind, str)(line) for line in value)
    return "yes" if option.kind is Kind.FLAG else str(value)


def _field(line: str) -> str:
    return f"{line.partition('=')[0]}=…"


def _header(line: str) -> str:
    return line if line.startswith("@") else f"{line.partition(':')[0]}: {HIDDEN}"


MASKED: Final[dict[Kind, Callable[[str], str]]] = {Kind.FIELD: _field, Kind.HEADER: _header}
