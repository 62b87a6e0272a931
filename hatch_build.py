"""Adds the files for browsers and the documentation to the wheel. `python hatch_build.py` builds both in place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent

# The wheel does not contain the builder, so import it from the checkout.
sys.path.insert(0, str(ROOT / "widget_sim"))

from chatkey_build import build, build_site  # noqa: E402


class BrowserFiles(BuildHookInterface[Any]):
    """Builds these files before hatchling collects them, for wheels and editable installs."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the files of a wheel, and its documentation unless it is editable. The sdist has only sources."""
        if self.target_name == "wheel":
            build(ROOT)
            if version == "standard":
                build_data["force_include"][str(build_site(ROOT))] = "chatkey_server/site"


if __name__ == "__main__":
    made = build(ROOT)
    sys.stdout.write(f"{len(made.sizes)} files, snapshot {made.snapshot}, {made.pyodide}\n")
    sys.stdout.write(f"{build_site(ROOT)}\n")
