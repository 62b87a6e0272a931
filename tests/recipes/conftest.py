"""A fake provider for the recipes, and the code that the page prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatkey_oauth.client import FakeOAuth
from chatkey_oauth.pytest_plugin import running

PAGE = (Path(__file__).parents[2] / "docs" / "fake-oauth-recipes.md").read_text("utf-8")


def blocks(title: str) -> list[str]:
    """Return the code blocks under a heading. The last block is the recipe."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"```\w+\n(.*?)```", section, re.DOTALL)


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOAuth]:
    """A fake provider, started as the page describes. The fake approves every request as the person `rhea`."""
    with running(auto_approve="rhea") as one:
        yield one
