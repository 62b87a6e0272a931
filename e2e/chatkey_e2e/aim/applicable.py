"""Selects and orders the scenarios for a target, and summarises the results in one sentence."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, Final

import pytest

from chatkey_e2e import needs
from chatkey_e2e.witness import witness_key

NOT_APPLICABLE: Final = "not applicable"
SMOKE: Final = "smoke"
RESTART: Final = "restart"


def leave_out(items: list[pytest.Item], have: Iterable[str]) -> None:
    """Skip the scenarios that need a missing capability, and name the capability. Smoke scenarios run first.

    Scenarios that restart the service run last, because a service that stores nothing loses the data of other
    scenarios.
    """
    for item in items:
        if lacking := needs.missing(item, have):
            item.add_marker(pytest.mark.skip(reason=f"{NOT_APPLICABLE}: {', '.join(sorted(lacking))}"))
    items.sort(key=lambda item: (item.get_closest_marker(SMOKE) is None, RESTART in needs.needed(item)))


class Smoke:
    """A pytest plugin that stops the run when `allowed + 1` smoke scenarios have failed, because all would fail.

    It also stops the run when a smoke scenario failed in which no connection was accepted.
    """

    def __init__(self, allowed: int = 0) -> None:
        self._left = allowed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Stop the run if the report is a failure of a smoke scenario, and no more failures are allowed."""
        report = yield
        if report.failed and report.when != "teardown" and item.get_closest_marker(SMOKE):
            witness = item.stash.get(witness_key, None)
            self._left -= 1 if witness is None or witness.accepted else 1 + self._left
        if self._left < 0:
            item.session.shouldstop = (
                f"the smoke test failed, last {item.name}: check the TOML file, its adapter, the service and the widget"
            )
        return report


def verdict(stats: Mapping[str, Sequence[Any]], name: str) -> str:
    """Return a sentence with the numbers of passed, failed, known-failing and not applicable scenarios."""
    left_out = [report for report in stats.get("skipped", ()) if NOT_APPLICABLE in str(report.longrepr)]
    count = {outcome: len(stats.get(outcome, ())) for outcome in ("passed", "xpassed", "failed", "error", "xfailed")}
    known = f"{count['xfailed']} known failures, " if count["xfailed"] else ""
    return (
        f"{name}: {count['passed'] + count['xpassed']} passed, {count['failed'] + count['error']} failed, "
        f"{known}{len(left_out)} not applicable"
    )
