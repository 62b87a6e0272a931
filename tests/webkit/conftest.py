"""Fixtures for WebKitGTK: a new browser for each test, and servers that all tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.webkit.driven import MISSING, Tab, browser, is_there, screen

from chatkey_e2e.business import Business, close_business, open_business
from chatkey_stack.stack import Flavour, Stack, running

MakeBusiness = Callable[..., Business]


@pytest.fixture(scope="session")
def display() -> Iterator[str]:
    if not is_there():
        pytest.skip(MISSING)
    with screen() as name:
        yield name


@pytest.fixture(scope="session")
def stack(display: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Service, fake provider and shops, over http on localhost. Browsers treat localhost as a secure context."""
    with running(Flavour.PLAIN, folder=tmp_path_factory.mktemp("stack")) as started:
        yield started


@pytest.fixture
def make_business(stack: Stack) -> Iterator[MakeBusiness]:
    """Return a function that creates a shop with a separate provider."""
    with ExitStack() as ending:

        def make(**wishes: object) -> Business:
            made = open_business(stack, **wishes)  # type: ignore[arg-type]
            ending.callback(close_business, made)
            return made

        yield make


@pytest.fixture
def business(make_business: MakeBusiness) -> Business:
    return make_business()


@pytest.fixture
def tab(display: str, tmp_path: Path) -> Iterator[Tab]:
    with browser(display, tmp_path / "driver.log") as driver:
        yield Tab(driver)
