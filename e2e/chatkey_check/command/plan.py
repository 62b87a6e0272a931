"""Collects the requests for `--plan` in a dry run. The dry run invents an answer to each request, and sends nothing."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from chatkey_check.calls.listed import ListedWire
from chatkey_check.calls.shared import Calls
from chatkey_check.evidence.shown import curl
from chatkey_check.exchange import Request
from chatkey_check.live.planned import PlannedLive
from chatkey_check.model import Report
from chatkey_check.run import Run
from chatkey_check.running.runner import Selection, report_of
from chatkey_check.target import Target
from chatkey_check.wire.planned import PlanClock, PlanWire

JKT: Final = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")


@dataclass(frozen=True, slots=True)
class Plan:
    """The requests of a run without failures. `lines` counts how often each label and curl line occurs."""

    requests: tuple[Request, ...]
    lines: Counter[tuple[str, str]]
    report: Report


def plan(target: Target, selection: Selection | None = None) -> Plan:
    """Return the requests that a run without failures would send."""
    clock = PlanClock()
    wire = PlanWire(target, now=clock.now)
    calls = Calls(target, ListedWire(wire, target), now=clock.now, sleep=clock.sleep)
    with Run(calls, PlannedLive(calls)) as run:
        report = report_of(run, selection=selection, in_line=True)
    told = ((request.label, curl(request, target, calls.masks)) for request in wire.sent)
    lines = Counter((label, JKT.sub("…", line)) for label, line in told)  # every call has another jkt
    return Plan(tuple(wire.sent), lines, report)
