"""Adds the documentation to the wheel. For an editable install, builds the files for browsers in the checkout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent

# The wheel does not contain the builder, so import it from the checkout.
sys.path.insert(0, str(ROOT / "widget_sim"))

from chatkey_build import build, pack_site  # noqa: E402


class Files(BuildHookInterface[Any]):
    """Builds these files before hatchling collects them. The sdist has only sources."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        if version == "editable":
            build(ROOT / "widget_sim")
        else:
            build_data["force_include"][str(pack_site(ROOT))] = "chatkey/site.tar.xz"
