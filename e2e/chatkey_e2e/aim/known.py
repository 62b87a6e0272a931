"""Known failures of a target. These scenarios may fail without being counted, and unexpected passes are reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest


class KnownFailures:
    """The reasons for known failures, by the name of a scenario or by the id of a sentence of the contract."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        self._reasons = reasons
        self._excused: dict[str, set[str]] = {}

    def excuse(self, items: Iterable[pytest.Item]) -> None:
        """Mark the listed scenarios as expected failures, each with its reason from the file."""
        for item in items:
            for name in sorted(names_of(item) & self._reasons.keys()):
                item.add_marker(pytest.mark.xfail(reason=f"known failure: {self._reasons[name]}", strict=False))
                self._excused.setdefault(item.nodeid, set()).add(name)

    def mended(self, stats: Mapping[str, Sequence[Any]]) -> list[str]:
        """Return the names that are no longer needed. All scenarios that ran with such a name have passed."""
        return sorted(self._told(stats, "xpassed") - self._told(stats, "xfailed"))

    def _told(self, stats: Mapping[str, Sequence[Any]], outcome: str) -> set[str]:
        return {name for report in stats.get(outcome, ()) for name in self._excused.get(report.nodeid, ())}


def names_of(item: pytest.Item) -> set[str]:
    """Return the names by which the file of known failures can refer to a scenario."""
    sentences = {str(sentence) for mark in item.iter_markers("contract") for sentence in mark.args}
    return {item.name, getattr(item, "originalname", item.name), *sentences}
