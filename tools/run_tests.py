"""Runs a pytest command. Failed tests run once more, alone. If they pass then, the run passes.

`python tools/run_tests.py FLAKY COMMAND…` appends the names of flaky tests to the file FLAKY. With `--report FLAKY` it
prints that file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

TESTS_FAILED: Final = 1
"""pytest's exit status if tests failed. Other failures are not caused by a test, and are not retried."""
MOST: Final = 10
"""If more tests fail than this, chance does not explain it, and they are not retried."""


def run(command: Sequence[str], flaky: Path) -> int:
    """Return the exit status of the tests, or 0 if the failed tests pass when run alone."""
    with tempfile.TemporaryDirectory(prefix="chatkey-tests-") as cache:
        command = [*command, "-o", f"cache_dir={cache}"]
        status = subprocess.call(command)
        failed = _failed(Path(cache))
        if status != TESTS_FAILED or not 0 < len(failed) <= MOST:
            return status
        print(f"\n{len(failed)} failed; these tests run once more, alone:", *failed, sep="\n  ", flush=True)
        status = subprocess.call([*command, "-n", "0", "--last-failed", "--last-failed-no-failures", "none"])
    if status == 0:
        with flaky.open("a", encoding="utf-8") as file:
            file.writelines(f"{test}\n" for test in failed)
    return status


def report(flaky: Path) -> str:
    """Return the list of a run's flaky tests, which is printed at the end of the run."""
    found = flaky.read_text(encoding="utf-8").splitlines() if flaky.exists() else []
    return "\n  ".join([f"flaky: {len(found)} tests failed at first and passed when run alone", *found])


def _failed(cache: Path) -> list[str]:
    """Return the names of the failed tests, from pytest's cache."""
    file = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else []


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--report", file]:
            print(report(Path(file)))
        case [file, *command] if command:
            sys.exit(run(command, Path(file)))
        case _:
            sys.exit(__doc__)
