"""Reads from a browser page that may close at the same moment."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from playwright.sync_api import Error, Page

T = TypeVar("T")


def unless_closing(page: Page, read: Callable[[], T], nothing: T) -> T:
    """Return the result of `read`, or `nothing` if `read` fails because the page closes.

    If `read` fails and the page stays open, raises the error of `read` after the page's timeout.
    """
    try:
        return read()
    except Error:
        if not page.is_closed():
            with suppress(Error):  # a timeout if the page stays open
                page.wait_for_event("close")
        if not page.is_closed():
            raise
        return nothing
