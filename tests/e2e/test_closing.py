"""Tests how the harness reads a window that may close meanwhile.

If the window is closed, the default must be returned. Any other error must be raised.
"""

from typing import cast

import pytest
from playwright.sync_api import Error, Page

from chatkey_e2e.closing import unless_closing


class Window:
    """A window whose content cannot be read. The test decides whether the window closes during the wait."""

    def __init__(self, *, closed: bool, closes: bool) -> None:
        self.closed = closed
        self._closes = closes

    def is_closed(self) -> bool:
        return self.closed

    def wait_for_event(self, name: str) -> None:
        if not self._closes:
            raise Error(f"Timeout while waiting for {name}")
        self.closed = True

    def content(self) -> str:
        raise Error("Target page, context or browser has been closed")


def test_a_value_of_an_open_window_is_returned() -> None:
    window = cast("Page", Window(closed=False, closes=False))

    assert unless_closing(window, lambda: "words", "") == "words"


@pytest.mark.parametrize("closed", [True, False])
def test_for_a_closing_window_the_default_is_returned(closed: bool) -> None:
    window = Window(closed=closed, closes=True)

    assert unless_closing(cast("Page", window), window.content, "nothing") == "nothing"
    assert window.closed


def test_a_failure_in_a_window_that_stays_open_is_raised_and_not_the_timeout() -> None:
    window = Window(closed=False, closes=False)

    with pytest.raises(Error, match="has been closed"):
        unless_closing(cast("Page", window), window.content, "")
