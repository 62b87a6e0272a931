"""Runs the checks in an order in which the first failure is the cause of later failures."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from threading import RLock
from typing import Final, Protocol

from chatkey_check import checks as catalogue
from chatkey_check.calls.listed import counted
from chatkey_check.calls.record import BANS
from chatkey_check.evidence.shown import evidence
from chatkey_check.judging.check import Check
from chatkey_check.model import (
    END_TO_END,
    PRECONDITIONS,
    Blocked,
    Outcome,
    Phase,
    Question,
    Report,
    Skipped,
    Verdict,
    Where,
)
from chatkey_check.run import Run
from chatkey_check.running.known import Known
from chatkey_check.running.versions import versions
from chatkey_check.target import OptionError

STOPS = frozenset({Verdict.FAIL, Verdict.BLOCKED, Verdict.ERROR})
LEFT_ALONE: Final = frozenset({PRECONDITIONS, END_TO_END})
"""Groups whose checks run one after the other, because they measure times or drive a browser."""
JUDGES: Final = 16
"""Number of checks that are judged at the same time. Some of them wait for others."""


class Listener(Protocol):
    """Receives the progress of a run. `started` is called from several threads."""

    def started(self, check: Question) -> None:
        """A check is about to be judged."""

    def finished(self, outcome: Outcome) -> None:
        """A check has ended. Checks are reported in the order of the catalogue."""


class Silence:
    """A listener that does nothing."""

    def started(self, check: Question) -> None: ...

    def finished(self, outcome: Outcome) -> None: ...


class Selection:
    """Selects checks by patterns of ids, such as `claim.*`."""

    def __init__(self, only: Sequence[str] = (), skip: Sequence[str] = ()) -> None:
        self._only = tuple(only)
        self._skip = tuple(skip)

    def reason_against(self, check_id: str) -> str:
        """Return why a check is not selected, or an empty text if it is selected."""
        if self._only and not any(fnmatchcase(check_id, pattern) for pattern in self._only):
            return "not selected by --only"
        if any(fnmatchcase(check_id, pattern) for pattern in self._skip):
            return "excluded by --skip"
        return ""


def report_of(
    run: Run,
    *,
    checks: Iterable[Check] | None = None,
    listener: Listener | None = None,
    known: Known | None = None,
    selection: Selection | None = None,
    require_all: bool = False,
    in_line: bool = False,
) -> Report:
    """Judge an endpoint and return the report. The caller has to close the run.

    With `in_line`, calls are made one at a time, except when a check tests simultaneous calls.
    """
    chosen = tuple(checks or catalogue.load())
    judging = _Judging(run, chosen, listener or Silence(), known or Known(), selection or Selection())
    return replace(judging.report(in_line=in_line), require_all=require_all)


class _Judging:
    def __init__(
        self,
        run: Run,
        checks: Sequence[Check],
        listener: Listener,
        known: Known,
        selection: Selection,
    ) -> None:
        self._run = run
        self._calls = run.calls
        self._checks = {check.id: check for check in checks}
        self._listener = listener
        self._known = known
        self._selection = selection
        self._outcomes: dict[str, Outcome] = {}
        self._locks = {name: RLock() for name in self._checks}
        self._told = 0

    def report(self, *, in_line: bool) -> Report:
        started_at, start = datetime.now(UTC), time.monotonic()
        wanted = [check for check in self._checks.values() if not self._selection.reason_against(check.id)]
        phases = ([Phase.FIRST], [Phase.LATER], [Phase.LAST]) if in_line else ([Phase.FIRST, Phase.LATER], [Phase.LAST])
        for phase in phases:
            checks = sorted((check for check in wanted if check.phase in phase), key=lambda one: phase.index(one.phase))
            at_once = [check for check in checks if check.phase is not Phase.LAST and check.group not in LEFT_ALONE]
            self._in_line([check for check in checks if check.group == PRECONDITIONS])
            (self._in_line if in_line else self._at_once)(at_once)
            self._in_line(checks)
        outcomes = tuple(self._shown(check) for check in self._checks.values())
        return Report(
            target=self._calls.target.url,
            versions=versions(),
            options=dict(self._calls.target.shown),
            started_at=started_at.isoformat(timespec="seconds"),
            seconds=time.monotonic() - start,
            waited=sum(self._calls.record.waits),
            sent=counted(self._calls.target, (done.request for done in self._calls.record.log)),
            skew=self._calls.record.skew,
            outcomes=outcomes,
            stale=self._known.stale(outcomes),
            limited=any(done.throttled for done in self._calls.record.log),
        )

    def _in_line(self, checks: Iterable[Check]) -> None:
        """Judge the remaining checks one after the other in this thread."""
        for check in checks:
            self._outcome(check)
            self._tell()

    def _at_once(self, checks: Iterable[Check]) -> None:
        """Judge independent checks in several threads. Outcomes are reported in the order of the catalogue."""
        self._calls.spread()
        pool = ThreadPoolExecutor(JUDGES)
        try:
            for _ in pool.map(self._outcome, checks):
                self._tell()
        finally:
            pool.shutdown(cancel_futures=True)

    def _outcome(self, check: Check) -> Outcome:
        """Return the outcome of a check. The first call judges the check. Other threads wait for the result."""
        with self._locks[check.id]:
            if check.id not in self._outcomes:
                in_the_way = self._in_the_way(check)
                made = Outcome(check, Verdict.BLOCKED, blocked_by=in_the_way) if in_the_way else self._judged(check)
                self._outcomes[check.id] = replace(made, known=self._known.reason(made))
            return self._outcomes[check.id]

    def _in_the_way(self, check: Check) -> str:
        """Return the id of the first failed check that prevents this check from being judged, or an empty text."""
        for name in check.needs:
            needed = self._checks.get(name)
            if needed is None:
                continue
            outcome = self._outcome(needed)
            if outcome.verdict in STOPS:
                return outcome.blocked_by or name
        return ""

    def _judged(self, check: Check) -> Outcome:
        self._listener.started(check)
        start = time.monotonic()
        try:
            found = check.judge(self._run)
            if found.verdict is not Verdict.PASS and any(done.status in BANS for done in found.about):
                shut_out = self._calls.shut_out
                if shut_out is not None:
                    return Outcome(check, Verdict.SKIP, shut_out)
        except Skipped as skipped:
            if skipped.by not in {"", check.id}:
                return self._blocked(check, skipped.by)
            return Outcome(check, Verdict.SKIP, skipped.reason, option=skipped.option)
        except Blocked as blocked:
            return self._blocked(check, blocked.by)
        except OptionError:
            raise
        except Exception as error:  # noqa: BLE001 - a fault of ours must not hide what the other checks find
            return Outcome(
                check,
                Verdict.ERROR,
                self._calls.masks.masked(_ours(error)),
                "Please report this: it is a bug in chatkey.",
            )
        bad = found.verdict is not Verdict.PASS
        return Outcome(
            check,
            found.verdict,
            self._calls.masks.masked(found.message),
            self._calls.masks.masked(found.hint or check.hint) if bad else "",
            evidence=tuple(evidence(exchange, self._calls.target, self._calls.masks) for exchange in found.about)
            if bad
            else (),
            files=found.files,
            where=self._place(found.where),
            seconds=time.monotonic() - start,
        )

    def _place(self, where: Where | None) -> Where | None:
        """Mask the texts of a place, because the endpoint may have written them."""
        if where is None:
            return None
        claim, header, file = (
            text and self._calls.masks.masked(text) for text in (where.claim, where.header, where.file)
        )
        return Where(claim, header, file, where.line)

    def _blocked(self, check: Check, by: str) -> Outcome:
        """Return a blocked outcome. Judge the blocking check first, so that its outcome is reported in any case."""
        outcome = self._outcome(self._checks[by]) if by in self._checks else None
        return Outcome(check, Verdict.BLOCKED, blocked_by=(outcome.blocked_by if outcome else "") or by)

    def _shown(self, check: Check) -> Outcome:
        reason = self._selection.reason_against(check.id)
        return Outcome(check, Verdict.SKIP, reason, left_out=True) if reason else self._outcomes[check.id]

    def _tell(self) -> None:
        """Report the finished outcomes in order, up to the first check that has not ended."""
        order = list(self._checks)
        while self._told < len(order):
            check = self._checks[order[self._told]]
            if check.id not in self._outcomes and not self._selection.reason_against(check.id):
                return
            self._listener.finished(self._shown(check))
            self._told += 1


def _ours(error: Exception) -> str:
    """Describe an exception of the checker's own code, with file and line."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
