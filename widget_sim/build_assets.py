"""Builds the files of the wheel `chatkey-assets`. `python widget_sim/build_assets.py` builds them in the checkout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HOME = Path(__file__).parent

# The wheel does not contain the builder, so import it from the checkout.
sys.path.insert(0, str(HOME))

from chatkey_build import build  # noqa: E402


class BrowserFiles(BuildHookInterface[Any]):
    """Builds the files before hatchling collects them for the wheel. The sdist has only sources."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        if self.target_name == "wheel":
            build(HOME)


if __name__ == "__main__":
    made = build(HOME)
    sys.stdout.write(f"{len(made.sizes)} files, snapshot {made.snapshot}, {made.pyodide}\n")
