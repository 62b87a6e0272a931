"""Follows the recipe "Add a page object" of CONTRIBUTING.md in a copy of the tree. One file must be enough."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from tests.recipes.copy import Recipe, copy_of_the_tree, follow, run

pytestmark = pytest.mark.long

PAGE: Final = '''
"""The timeline of a login at the fake provider."""

from typing import Self

from playwright.sync_api import Page


class TimelinePage:
    """One login's timeline, in a tab."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, address: str) -> Self:
        """Open the timeline at this address."""
        self.page.goto(address)
        return self

    @property
    def steps(self) -> list[str]:
        """The headings of the login's steps, in order."""
        timeline = self.page.get_by_role("list", name="Timeline")
        return [heading.partition("+")[0].strip() for heading in timeline.get_by_role("heading").all_inner_texts()]
'''
RECIPE: Final[Recipe] = {"e2e/chatkey_e2e/pages/timeline.py": {"": PAGE.lstrip()}}

SCENARIO: Final = '''
"""The timeline of a login, through its page object."""

import pytest

from chatkey_e2e.pages.timeline import TimelinePage
from chatkey_oauth.client import Scope


@pytest.fixture
def business(make_business):
    """A business whose visitors may sign in with Google."""
    return make_business(get_token=False, own_keys=["google"])


@pytest.mark.needs("own-keys", "social:google")
def test_a_cancelled_login_ends_with_the_consent_page(visitor, stack, context):
    """The timeline of a login that was cancelled has no token."""
    visitor.asks("google").deny()
    visitor.widget.wait_for_event("oauth:failed")
    (flow,) = stack.provider_lab.flows(Scope(client_id=visitor.business.own_keys["google"].client_id))

    timeline = TimelinePage(context.new_page()).open(stack.provider_lab.page_of(flow.id))

    assert "Consent" in timeline.steps
    assert "Token" not in timeline.steps
'''


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree to which the recipe has added a page object, with a scenario that uses the page object."""
    tree = copy_of_the_tree(tmp_path_factory.mktemp("recipe"))
    follow(tree, RECIPE)
    (tree / "e2e/chatkey_e2e/scenarios/test_timeline_page.py").write_text(SCENARIO.lstrip())
    return tree


def test_it_takes_one_file() -> None:
    assert len(RECIPE) == 1


def test_a_scenario_uses_it(tree: Path) -> None:
    ended = run(tree, "-m", "chatkey", "e2e", "-k", "test_timeline_page")

    assert ended.returncode == 0, ended.stdout
    assert "1 passed" in ended.stdout
