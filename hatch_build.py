"""Adds the files for browsers to the wheel. `python hatch_build.py` rebuilds the files in place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent

# The wheel does not contain the builder, so import it from the checkout.
sys.path.insert(0, str(ROOT / "widget_sim"))

from chatkey_build import build  # noqa: E402


class BrowserFiles(BuildHookInterface[Any]):
    """Builds the files for browsers before hatchling collects them, for wheels and editable installs."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Update the files for browsers in a wheel. The source distribution contains only the sources."""
        if self.target_name == "wheel":
            build(ROOT)


if __name__ == "__main__":
    made = build(ROOT)
    sys.stdout.write(f"{len(made.sizes)} files, snapshot {made.snapshot}, {made.pyodide}\n")
