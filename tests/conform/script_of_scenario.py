"""A plugin for pytest that puts a script in place before each scenario, so that one run can judge several widgets.

The folder SCRIPTS has the script of a scenario as `{part of its name}.broken`, and the script of all others as `whole`.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

SCRIPTS: Final = Path(os.environ["SCRIPTS"])


def pytest_runtest_setup(item: pytest.Item) -> None:
    own = (path for path in SCRIPTS.glob("*.broken") if path.stem in item.name)
    shutil.copy(next(own, SCRIPTS / "whole"), SCRIPTS / "widget.js")
