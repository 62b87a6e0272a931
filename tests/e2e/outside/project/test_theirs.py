"""Tests that use no fixture of the harness."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

TALL = "data:text/html,<title>A</title><body style='height: 3000px'><h1>Hello"


def test_a_page(page: Page, seen: Callable[..., None], base_url: str | None) -> None:
    page.goto(TALL)
    seen(page, base_url=base_url, default=expect._timeout)
    expect(page).to_have_title("A")
