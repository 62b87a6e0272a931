"""Tests that use no fixture of the harness."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

TALL = "data:text/html,<title>A</title><body style='height: 3000px'><h1>Hello"


def test_a_page(page: Page, seen: Callable[..., None], base_url: str | None) -> None:
    page.goto(TALL)
    seen(page, base_url=base_url, default=expect._timeout)
    expect(page).to_have_title("A")


def test_fails(page: Page) -> None:
    page.goto(TALL)
    assert page.title() == "B"


def test_fails_once(page: Page, request: pytest.FixtureRequest) -> None:
    page.goto(TALL)
    assert request.node.execution_count == 2


def test_softly(page: Page) -> None:
    page.goto(TALL)
    expect.soft(page).to_have_title("B", timeout=1)
    expect.soft(page.get_by_role("heading")).to_have_text("Bye", timeout=1)


@pytest.mark.skip_browser("chromium")
def test_not_in_chromium(page: Page) -> None:
    pass


@pytest.mark.only_browser("firefox")
def test_in_firefox_alone(page: Page) -> None:
    pass
