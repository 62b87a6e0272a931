"""Marks scenarios with the browsers whose drivers can run them, and counts those that were left out."""

from collections import Counter
from collections.abc import Iterable

import pytest

from chatkey_stack.browsers import KINDS, Kind

MARKER = "only_on(*kinds, because): the browsers (chromium, firefox, webkit) whose drivers can do what this test needs"


def leave_out(items: Iterable[pytest.Item], kind: Kind) -> None:
    """Mark as skipped what the driver of this kind of browser cannot do, each with its reason.

    Raises `pytest.UsageError` for a mark that names no browser, an unknown one, or no reason.
    """
    for item in items:
        for mark in item.iter_markers("only_on"):
            because = _reason(item, mark)
            if kind not in mark.args:
                item.add_marker(pytest.mark.skip(reason=f"only on {' and '.join(mark.args)}: {because}"))


def counted(skipped: Iterable[pytest.TestReport]) -> list[str]:
    """Return one line for each reason for which tests were skipped, with their number, most first."""
    reasons = Counter(_why(report) for report in skipped)
    return [f"{number} skipped {reason}" for reason, number in reasons.most_common()]


def _reason(item: pytest.Item, mark: pytest.Mark) -> str:
    unknown = [kind for kind in mark.args if kind not in KINDS]
    if unknown or not mark.args:
        said = f"the unknown {unknown[0]!r}" if unknown else "nothing"
        raise pytest.UsageError(f"{item.nodeid}: only_on names {said}; browsers are {', '.join(KINDS)}")
    if set(mark.kwargs) != {"because"} or not str(mark.kwargs["because"]).strip():
        raise pytest.UsageError(f'{item.nodeid}: only_on needs one reason, because="…"')
    return str(mark.kwargs["because"])


def _why(report: pytest.TestReport) -> str:
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)
