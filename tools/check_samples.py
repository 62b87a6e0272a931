"""Makes sample output of `chatkey check` for a correct endpoint, a faulty endpoint, and an unreachable endpoint."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import cache
from typing import Final

from tests.check.mutants import self_test
from tests.check.mutants.mutant_backend import SECRET
from tests.check.mutants.mutant_server import Server

from chatkey_check import checks
from chatkey_check.command.screen import Screen
from chatkey_check.command.terminal import Terminal
from chatkey_check.judging.check import Check
from chatkey_check.model import END_TO_END, Evidence, Report
from chatkey_check.run import opened
from chatkey_check.running.runner import report_of
from chatkey_check.target import Target

SHOP: Final = "https://shop.localhost:8443"
JKT: Final = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
DATE: Final = "Thu, 01 Jan 2026 12:00:00 GMT"
COLUMNS: Final = 100


def sample(name: str) -> str:
    """Return the output of a sample in the form in which a terminal shows it. Raises `KeyError` for an unknown name."""
    raw = io.StringIO()
    report = reports()[name]
    Terminal(Screen(raw, width=COLUMNS, live=True), total=0).end(report)
    lines = "".join(re.split(r"\x1b\[[\d;?]*[A-Za-z]|\r", raw.getvalue())).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


@cache
def reports() -> dict[str, Report]:
    """Return the three reports, with the same times, keys and addresses in every run."""
    asked = [check for check in checks.load() if check.group != END_TO_END]
    with Server() as server:
        return {
            "clean": _settled(self_test.judge(server, "Everything", asked)),
            "one fault": _settled(self_test.judge(server, "key-newline", asked)),
            "unreachable": _settled(_nobody_there(asked)),
        }


def _nobody_there(asked: list[Check]) -> Report:
    name = "shop.localhost"
    with opened(Target(f"http://{name}:1/chat/token", secret=SECRET, connect_to={name: "127.0.0.1"})) as run:
        return report_of(run, checks=asked)


def _settled(report: Report) -> Report:
    """Return a report in which everything that differs between runs is replaced."""
    outcomes = tuple(
        replace(
            outcome,
            message=_same(outcome.message),
            evidence=tuple(
                Evidence(seen.label, _same(seen.curl), _same(seen.response), 0.012) for seen in outcome.evidence
            ),
        )
        for outcome in report.outcomes
    )
    sent, seconds, waited = ({"": 139}, 1.5, 1.0) if report.requests else ({}, 0.0, 0.0)
    return replace(
        report,
        target=f"{SHOP}/chat/token",
        started_at="2026-01-01T12:00:00+00:00",
        outcomes=outcomes,
        sent=sent,
        seconds=seconds,
        waited=waited,
        skew=0.0,
    )


def _same(text: str) -> str:
    rules = (
        (r"http://127\.0\.0\.1:\d+(/[\w-]+(?=/chat))?", SHOP),
        (r"shop\.localhost:1\b", "shop.localhost:8443"),
        (r"Date: .*", f"Date: {DATE}"),
        (r'(?<="jkt":")[^"]{43}(?=")', JKT),
    )
    for pattern, instead in rules:
        text = re.sub(pattern, instead, text)
    return text
