"""Adds the packages of this distribution from the folders of the checkout, and builds the files for browsers.

The source distribution has the same folders as the checkout.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HOME: Final = Path(__file__).parent
ROOT: Final = HOME if (HOME / "server").is_dir() else HOME.parent
"""The folder of the source distribution, or of the checkout."""

PACKAGES: Final = (
    "server/chatkey_server",
    "widget_sim/chatkey_assets",
    "widget_sim/chatkey_widget",
    "e2e/chatkey_conform",
    "e2e/chatkey_e2e",
    "demo/chatkey_demo",
)
JUDGED_BY: Final = ("docs/contract.toml", "docs/schemas")
"""What `chatkey conform` judges by: the same files that stand in the documents."""

SOURCES: Final = ("widget_sim/chatkey_build", "widget_sim/chatkey_protocol", "widget_sim/page", "widget_sim/pyodide")
"""From these, the files for browsers are built."""

GENERATED: Final = {"built", "node_modules", "__pycache__"}

# The wheel does not contain the builder, so import it from the checkout.
sys.path.insert(0, str(ROOT / "widget_sim"))

from chatkey_build import build  # noqa: E402


class Kit(BuildHookInterface[Any]):
    """Names the files before hatchling collects them."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        forced: dict[str, str] = build_data["force_include"]
        if self.target_name == "sdist":
            sources = (file for name in (*PACKAGES, *JUDGED_BY, *SOURCES) for file in _sources(ROOT / name))
            forced |= {str(file): file.relative_to(ROOT).as_posix() for file in sources}
            return
        build(ROOT / "widget_sim")
        forced |= {str(ROOT / name): Path(name).name for name in PACKAGES}
        forced |= {str(ROOT / name): f"chatkey_conform/data/{name}" for name in JUDGED_BY}


def _sources(place: Path) -> Iterator[Path]:
    """Yield the files at this place that git has."""
    if place.is_file():
        yield place
    for file in sorted(place.rglob("*")):
        if file.is_file() and not GENERATED & set(file.relative_to(ROOT).parts):
            yield file
