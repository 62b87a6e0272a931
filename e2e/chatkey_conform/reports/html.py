"""The report as an HTML page: every tested sentence, with its evidence. Two reports can be shown side by side."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from chatkey_conform.reports.words import errors, name_of, outcome, share, unjudged
from chatkey_peer.pages import page

Json = dict[str, Any]

HERE: Final = Path(__file__).parent
ABSENT: Final = {"verdict": "not run", "reason": "", "passed": 0, "cases": 0, "wrong": []}
FIRST: Final = "Failed"
SHOWN: Final = 10
"""The maximum number of failed cases per sentence that are shown with evidence."""


def write(*reports: Json) -> str:
    """Return the page for one report, or for two side by side."""
    return page(
        HERE / "matrix.html",
        names=[name_of(report) for report in reports],
        cards=[_card(report) for report in reports],
        reports=reports,
        groups=_groups(reports),
        verdicts=sorted({s["verdict"] for report in reports for s in report["sentences"]}),
    )


def index(reports: dict[str, Json]) -> str:
    """Return a page that lists reports, the newest first. `reports` has each report by the address of its page."""
    newest_first = sorted(reports.items(), key=lambda item: str(item[1]["started"]), reverse=True)
    cards = [{**_card(report), "link": link} for link, report in newest_first]
    return page(HERE / "index.html", cards=cards)


def _card(report: Json) -> Json:
    """Return the summary of one target, shown above the sentences."""
    target = report["target"]
    failed, doubtful = report["counts"]["failed"], report["unjudged_must"] or report["cases"]["harness error"]
    return {
        "name": name_of(report),
        "kind": "failed" if failed else "unsure" if doubtful else "passed",
        "verdict": outcome(report).capitalize(),
        "share": share(report),
        "errors": errors(report),
        "counts": {verdict: number for verdict, number in report["counts"].items() if number},
        "unjudged": unjudged(report),
        "at": target["base_url"],
        "grade": target["grade"],
        "began": datetime.fromisoformat(report["started"]).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "seconds": report["seconds"],
        "suite": report["suite"],
        "contract": report["contract"],
        "capabilities": target["capabilities"],
    }


def _groups(reports: tuple[Json, ...]) -> dict[str, list[Json]]:
    """Return the rows of the table by group, failures first. A row has a sentence and its result in every report."""
    by_id = [{sentence["id"]: sentence for sentence in report["sentences"]} for report in reports]
    evidence = [{entry["id"]: entry for entry in report["evidence"]} for report in reports]
    groups: dict[str, list[Json]] = {}
    for name, sentence in {key: found for known in reversed(by_id) for key, found in known.items()}.items():
        cells = [known.get(name, ABSENT) for known in by_id]
        shown = [_cell(cell, known) for cell, known in zip(cells, evidence, strict=True)]
        differ = len({cell["verdict"] for cell in cells}) > 1
        group = FIRST if any(cell["verdict"] == "failed" for cell in cells) else sentence["group"]
        groups.setdefault(group, []).append({**sentence, "cells": shown, "differ": differ})
    return {**({FIRST: groups[FIRST]} if FIRST in groups else {}), **groups}


def _cell(cell: Json, evidence: dict[str, Json]) -> Json:
    """Return the result of a sentence at one target, with the number of cases and the evidence for failures."""
    other = cell["cases"] - cell["passed"] - len(cell["wrong"])
    told = [f"{cell['passed']} of {cell['cases'] - other} cases passed"] if cell["cases"] > other else []
    told += [f"{other} not judged"] if other else []
    shown = [evidence[wrong] for wrong in cell["wrong"][:SHOWN] if wrong in evidence]
    return {**cell, "told": ", ".join(told), "evidence": shown}
