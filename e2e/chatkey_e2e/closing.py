"""Reads what is in a window that may be closing itself at this moment."""

from collections.abc import Callable
from typing import TypeVar

from playwright.sync_api import Error, Page

T = TypeVar("T")


def unless_closing(page: Page, read: Callable[[], T], nothing: T) -> T:
    """Return what `read` finds in a page, or `nothing` if the page closes meanwhile. Any other failure is raised."""
    try:
        return read()
    except Error:
        if not page.is_closed():
            page.wait_for_event("close")
        return nothing
