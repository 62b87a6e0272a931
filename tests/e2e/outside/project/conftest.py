"""A project that is not ours: pytest-playwright, and one import."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from chatkey_e2e.overrides import *

FACTS = """() => ({
  agent: navigator.userAgent, width: innerWidth, calm: matchMedia("(prefers-reduced-motion)").matches,
})"""


@pytest.fixture
def seen(
    request: pytest.FixtureRequest, browser_name: str, browser_type_launch_args: dict[str, Any]
) -> Callable[..., None]:
    """Note what a test met, for whoever started this run."""

    def note(page: Page, **more: object) -> None:
        here = {"test": request.node.name, "browser": browser_name, "worker": os.environ.get("PYTEST_XDIST_WORKER")}
        facts = {**page.evaluate(FACTS), **here, "launch": browser_type_launch_args, **more}
        with Path("seen.jsonl").open("a") as file:
            file.write(json.dumps(facts) + "\n")

    return note
