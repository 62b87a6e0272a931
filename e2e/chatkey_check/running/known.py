"""Known failures: a file of check ids with reasons. An entry whose check does not fail is an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from chatkey_check.model import Outcome, Verdict
from chatkey_check.target import OptionError
from chatkey_peer.known import KnownError, read_known

EXCUSED: Final = frozenset({Verdict.FAIL, Verdict.WARN})


class Known:
    """The entries of a file of known failures. Empty without a file."""

    def __init__(self, reasons: Mapping[str, str] | None = None) -> None:
        self._reasons = dict(reasons or {})

    def reason(self, outcome: Outcome) -> str:
        """Return why a failure or a warning is known, or an empty text if it is not known."""
        return self._reasons.get(outcome.check.id, "") if outcome.verdict in EXCUSED else ""

    def stale(self, outcomes: Iterable[Outcome]) -> tuple[str, ...]:
        """Return the outdated entries. Their checks passed, were not judged, or do not exist."""
        verdicts = {outcome.check.id: outcome.verdict for outcome in outcomes}
        return tuple(
            f"{check_id}: {_complaint(verdicts.get(check_id))}"
            for check_id in self._reasons
            if verdicts.get(check_id) not in EXCUSED
        )


def read(path: Path) -> Known:
    """Read a file of known failures. Raises `OptionError`."""
    try:
        return Known(read_known(path))
    except KnownError as error:
        raise OptionError(f"--known-failures: {error}") from error


def _complaint(verdict: Verdict | None) -> str:
    match verdict:
        case None:
            return "there is no check with this id; remove the line"
        case Verdict.PASS:
            return "it passes now; remove the line"
        case _:
            return f"it was not judged in this run ({verdict}); remove the line, or give the options that it needs"
