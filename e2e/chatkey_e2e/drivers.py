"""Reports why tests are skipped in a browser, if the pytest-playwright marks of these tests give a reason."""

from collections import Counter
from collections.abc import Iterable

import pytest

from chatkey_stack.browsers import KINDS


def leave_out(items: Iterable[pytest.Item]) -> None:
    """Skip the tests that `skip_browser(kind, because=…)` or `only_browser(kind, because=…)` excludes, with the reason.

    pytest-playwright handles marks without a reason. Raises `pytest.UsageError` for a reason with an unknown browser.
    """
    for item in items:
        for mark in (*item.iter_markers("skip_browser"), *item.iter_markers("only_browser")):
            kind = _driven(item)
            if "because" in mark.kwargs and kind and (kind in _named(item, mark)) == (mark.name == "skip_browser"):
                item.add_marker(pytest.mark.skip(reason=f"not in {kind}: {mark.kwargs['because']}"))


def counted(skipped: Iterable[pytest.TestReport]) -> list[str]:
    """Return one line for each reason for skipped tests, with the number of tests, most frequent first."""
    reasons = Counter(_why(report) for report in skipped)
    return [f"{number} skipped {reason}" for reason, number in reasons.most_common()]


def _driven(item: pytest.Item) -> str | None:
    """Return the browser in which pytest-playwright runs this test, or None if the test uses no browser."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("browser_name") if callspec else None


def _named(item: pytest.Item, mark: pytest.Mark) -> tuple[str, ...]:
    if unknown := [kind for kind in mark.args if kind not in KINDS]:
        raise pytest.UsageError(
            f"{item.nodeid}: {mark.name} has the unknown browser {unknown[0]!r}; known are {', '.join(KINDS)}"
        )
    return mark.args


def _why(report: pytest.TestReport) -> str:
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)
