"""Tests that the clocks of servers and pages move together.

The clocks must not move while a window is loading its next page.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from playwright.sync_api import BrowserContext

from chatkey_e2e.clocks import LOOK_MS, Clocks, StillLoadingError
from chatkey_stack.stack import Stack

PATIENCE = 0.2


class Context:
    """A fake browser context that records changes of its clock, and fires events while the test waits."""

    def __init__(self, moved: list[str]) -> None:
        self.listeners: dict[str, Callable[[Any], None]] = {}
        self.clock = SimpleNamespace(
            install=lambda: moved.append("taken over"), fast_forward=lambda ms: moved.append(f"pages by {ms}")
        )
        self.pages = [SimpleNamespace(wait_for_timeout=self.wait)]
        self.meanwhile: list[tuple[str, Any]] = []
        self.looks = 0

    def on(self, name: str, listener: Callable[[Any], None]) -> None:
        self.listeners[name] = listener

    def wait(self, milliseconds: float) -> None:
        self.looks += 1
        if self.meanwhile:
            name, argument = self.meanwhile.pop()
            self.listeners[name](argument)


class Servers:
    def __init__(self, moved: list[str]) -> None:
        self._moved = moved

    def advance(self, seconds: float, move_pages: Callable[[], object]) -> None:
        self._moved.append(f"servers by {seconds}")
        move_pages()
        self._moved.append("what is due")


@dataclass(eq=False)
class Asked:
    url: str
    navigates: bool = True

    def is_navigation_request(self) -> bool:
        return self.navigates


@pytest.fixture
def moved() -> list[str]:
    return []


@pytest.fixture
def context(moved: list[str]) -> Context:
    return Context(moved)


@pytest.fixture
def clocks(moved: list[str], context: Context) -> Clocks:
    return Clocks(cast("Stack", Servers(moved)), cast("BrowserContext", context), PATIENCE)


def test_the_clocks_of_pages_move_before_that_of_the_service(clocks: Clocks, moved: list[str]) -> None:
    clocks.advance(51)

    assert moved == ["taken over", "servers by 51", "pages by 51000", "what is due"]


@pytest.mark.parametrize("ending", ["response", "requestfailed"])
def test_a_window_that_is_loading_is_waited_for(
    clocks: Clocks, moved: list[str], context: Context, ending: str
) -> None:
    asked = Asked("https://id.localhost/authorize")
    context.listeners["request"](asked)
    context.meanwhile = [(ending, SimpleNamespace(request=asked) if ending == "response" else asked)]

    clocks.advance(1)

    assert (context.looks, moved[-1]) == (1, "what is due")


def test_requests_that_are_no_navigation_are_not_waited_for(clocks: Clocks, moved: list[str], context: Context) -> None:
    context.listeners["request"](Asked("https://chat.localhost/v1", navigates=False))

    clocks.advance(1)

    assert (context.looks, moved[-1]) == (0, "what is due")


def test_a_window_that_does_not_load_is_named_and_no_clock_moves(
    clocks: Clocks, moved: list[str], context: Context
) -> None:
    context.listeners["request"](Asked("https://id.localhost/authorize?state=secret"))

    with pytest.raises(
        StillLoadingError, match=r"after 0\.2 s a window is still loading https://id\.localhost/authorize\. "
    ):
        clocks.advance(1)

    assert (context.looks, moved) == (PATIENCE * 1000 / LOOK_MS, ["taken over"])
