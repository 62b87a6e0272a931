"""Tests that a call of Playwright which the browser never answers fails after the timeout of a step."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator

import pytest
from playwright.sync_api import Playwright, sync_playwright
from playwright.sync_api import TimeoutError as TimedOut

from chatkey_e2e.bounds import bounded

LONGER = 0.2


async def close() -> None:
    await asyncio.Event().wait()


async def pause() -> None:
    await asyncio.sleep(LONGER)


async def click(timeout: float) -> None:  # noqa: ASYNC109  (as Playwright's own calls)
    await asyncio.sleep(LONGER)


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


def test_a_call_without_a_timeout_ends(playwright: Playwright) -> None:
    with (
        bounded(0.01),
        pytest.raises(TimedOut, match=r"Playwright\.close: the browser has not answered within 0\.01 s"),
    ):
        playwright._sync(close())


@pytest.mark.parametrize("call", [pause, lambda: click(1)], ids=["pause", "timeout of its own"])
def test_a_call_that_waits_for_a_person_or_has_its_own_timeout_goes_on(
    playwright: Playwright, call: Callable[[], Coroutine[None, None, None]]
) -> None:
    with bounded(0.01):
        playwright._sync(call())


def test_without_a_timeout_of_steps_no_call_is_bounded(playwright: Playwright) -> None:
    with bounded(0):
        playwright._sync(pause())
