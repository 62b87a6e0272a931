"""A project outside our tree that uses pytest-playwright and imports the harness in one line."""

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
    """Append facts about the test's page and browser to seen.jsonl, which test_outside.py reads."""

    def note(page: Page, **more: object) -> None:
        here = {"test": request.node.name, "browser": browser_name, "worker": os.environ.get("PYTEST_XDIST_WORKER")}
        facts = {**page.evaluate(FACTS), **here, "launch": browser_type_launch_args, **more}
        with Path("seen.jsonl").open("a") as file:
            file.write(json.dumps(facts) + "\n")

    return note
