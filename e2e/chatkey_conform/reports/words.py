"""Sentences that all report formats share. They are made from `report.json`."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def name_of(report: Json) -> str:
    return " ".join(part for part in (report["target"]["name"], report["target"]["version"]) if part)


def share(report: Json) -> str:
    """Return how many sentences were judged. Every verdict must state this share."""
    judged, scored = report["judged"], report["scored"]
    percent = 100 * judged // scored if scored else 0
    return f"{judged} of {scored} sentences judged ({percent} %)"


def outcome(report: Json) -> str:
    """Return how many sentences failed. Always show this together with `share`."""
    failed = report["counts"]["failed"]
    loose = report["counts"].get("not strict", 0)
    return (f"{failed} failed" if failed else "nothing failed") + (f", {loose} not strict" if loose else "")


def errors(report: Json) -> str:
    """Return how many cases ended with a harness error, or an empty text if there are none."""
    number = report["cases"]["harness error"]
    return f"{number} cases ended with a harness error" if number else ""


def headline(report: Json) -> str:
    """Return the verdict in one line, including the share of judged sentences."""
    known = report["counts"]["known failure"]
    told = [outcome(report), share(report), f"{known} known failures" if known else "", errors(report)]
    return f"{name_of(report)}, {report['profile']} revision {report['revision']}: {', '.join(filter(None, told))}."


def unjudged(report: Json) -> str:
    """Return the ids of the *must* sentences that were not judged, or an empty text if all were judged.

    If an option selected a part of the suite, return the number of these sentences.
    """
    ids = [entry["id"] for entry in report["unjudged_must"]]
    if report.get("part"):
        return f"Only {report['part']} ran; {len(ids)} must sentences were not judged."
    return f"Not judged, although they are must sentences: {', '.join(ids)}." if ids else ""
