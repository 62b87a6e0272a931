"""Rebuilds the browser's files in a checkout if the sources are newer. An installed package contains these files."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


class StaleError(Exception):
    """The browser's files could not be rebuilt. The message is the output of the build."""


def refresh(root: Path = CHECKOUT) -> None:
    """If `root` is a checkout, rebuild outdated files. Takes a tenth of a second if all files are current."""
    script = root / "widget_sim" / "build_assets.py"
    if not script.is_file():
        return
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)  # noqa: S603  (ours)
    if done.returncode:
        raise StaleError(f"`python {script.relative_to(root)}` failed:\n{done.stderr.strip()}")
