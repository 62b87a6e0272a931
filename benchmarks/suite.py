"""Measures how long the browser scenarios take, and which steps take the time.

Runs `chatkey e2e` once and reads the recorded times. Arguments are passed on, so that you can measure a part: `python
benchmarks/suite.py -k visitor --browser firefox`. *Booting* is the time that each page reports for starting its widget,
from requesting Python's files to Python running. The remaining time until the visitor is connected is not included.
Servers and browsers start once, before the first scenario, and this time is not part of any scenario's time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from chatkey_e2e.timings import Figures


def main() -> None:
    """Run the scenarios and report. If the scenarios fail, exit with their status."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "times.json"
        command = [sys.executable, "-c", "from chatkey_e2e.cli import e2e; e2e()", *sys.argv[1:]]
        done = subprocess.run([*command, "--chatkey-timings", file], check=False)
        if done.returncode:
            sys.exit(done.returncode)
        report(Figures(**json.loads(file.read_text())))


def report(figures: Figures) -> None:
    """Print the figures for people, then one line of JSON for programs."""
    scenarios, boots = figures.scenarios.values(), figures.boots or [0.0]
    spent = {when: sum(phases.get(when, 0.0) for phases in scenarios) for when in ("setup", "call", "teardown")}
    spent["setup"] -= figures.starting
    mean = sum(spent.values()) / len(scenarios)
    middle = median(sum(phases.values()) for phases in scenarios)
    spent["servers and browsers"] = figures.total - sum(spent.values())
    shares = {name: seconds / figures.total for name, seconds in spent.items()}
    booting = sum(boots) / figures.total
    sys.stdout.write(
        f"{len(scenarios)} scenarios in {figures.total:.0f} s; mean {mean:.2f} s, median {middle:.2f} s\n"
        f"booting: {booting:.0%} of the time, {len(figures.boots)} widgets, median {median(boots):.2f} s\n"
        f"{', '.join(f'{name}: {share:.0%}' for name, share in shares.items())}\n"
    )
    numbers = {
        "scenarios": len(scenarios),
        "seconds": round(figures.total, 1),
        "scenario_mean_s": round(mean, 3),
        "scenario_median_s": round(middle, 3),
        "boots": len(figures.boots),
        "boot_share": round(booting, 3),
        **{f"{name.replace(' ', '_')}_share": round(share, 3) for name, share in shares.items()},
    }
    sys.stdout.write(json.dumps({"bench": "suite", **numbers}) + "\n")


if __name__ == "__main__":
    main()
