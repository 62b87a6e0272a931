"""Builds the files for browsers in a checkout."""

from __future__ import annotations

import sys
from pathlib import Path

from chatkey_build import build

if __name__ == "__main__":
    made = build(Path(__file__).parent)
    sys.stdout.write(f"{len(made.sizes)} files, snapshot {made.snapshot}, {made.pyodide}\n")
