"""In a checkout the browser's files may be older than the sources; an installed package carries its own."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


class StaleError(Exception):
    """The browser's files could not be rebuilt; the message is what the build said."""


def refresh(root: Path = CHECKOUT) -> None:
    """Rebuild what is out of date if `root` is a checkout; takes a tenth of a second when nothing is."""
    script = root / "hatch_build.py"
    if not script.is_file():
        return
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)  # noqa: S603  (ours)
    if done.returncode:
        raise StaleError(f"`python hatch_build.py` failed:\n{done.stderr.strip()}")
