"""Mutation tests with mutmut, which changes every function of the rules, the socket and the widget.

    python -m tools.mutation [NAME…]

tests the mutants with these names, or all. It lists the mutants that no test noticed, and ends with the score. mutmut
changes each function in every way that mutmut knows. Its settings in `pyproject.toml` select the code to change and the
tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path
from typing import Final

import click

ROOT: Final = Path(__file__).parents[1]
WORK: Final = ROOT / ".nox" / "mutation" / "work"
KILLED: Final = "killed"
BY_TYPES: Final = "caught by type check"
CHANGED: Final = ("chatkey_server", "chatkey_widget")
READ: Final = ("docs", "pyproject.toml", "tests", "tools", "typings", "widget_sim")
"""What the tests read besides the packages."""

LEAST_PERCENT: Final = 80
"""The session fails if the score of a whole run is lower."""


@click.command
@click.argument("names", nargs=-1)
def main(names: tuple[str, ...]) -> None:
    """Let mutmut change the code, and list the changes that no test notices."""
    _prepare()
    _mutmut("run", *names)
    results = _results()
    for name, status in results.items():
        if status not in {KILLED, BY_TYPES, "not checked"}:
            click.echo(f"{status:9} {name}")
    counts = Counter(results.values())
    noticed, missed = counts[KILLED] + counts["timeout"], counts["survived"] + counts["no tests"]
    score = 100 * noticed / max(1, noticed + missed)
    click.echo(f"To see one: cd {WORK.relative_to(ROOT)} && ../bin/mutmut show NAME")
    click.echo(f"{counts[BY_TYPES]} found by mypy; of the others, {noticed} killed, {missed} survived: {score:.1f} %")
    sys.exit(not names and score < LEAST_PERCENT)


def _prepare() -> None:
    """Make a folder in the layout that mutmut needs: `src` with the packages to change, and links to the rest."""
    shutil.rmtree(WORK, ignore_errors=True)
    installed = Path(sysconfig.get_path("purelib"))
    for name in CHANGED:
        shutil.copytree(installed / name, WORK / "src" / name)
    for name in READ:
        (WORK / name).symlink_to(ROOT / name)


def _results() -> dict[str, str]:
    """Return the status of every mutant."""
    lines = (line.strip().rpartition(": ") for line in _mutmut("results", "--all", "true", read=True).splitlines())
    return {name: status for name, _, status in lines}


def _mutmut(*arguments: str, read: bool = False) -> str:
    # With CI, Hypothesis tries the same inputs in every run, for as long as they take.
    environ = {**os.environ, "CI": "true", "MYPYPATH": "src"}
    command = [str(Path(sys.executable).with_name("mutmut")), *arguments]
    output = subprocess.PIPE if read else None
    done = subprocess.run(command, cwd=WORK, env=environ, check=True, text=True, stdout=output)
    return done.stdout or ""


if __name__ == "__main__":
    main()
