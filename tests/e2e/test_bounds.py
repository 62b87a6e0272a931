"""Tests that a call of Playwright which the browser never answers fails after the timeout of a step."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest
from playwright.sync_api import TimeoutError as TimedOut
from playwright.sync_api import sync_playwright

from chatkey_e2e.bounds import bounded


async def close() -> None:
    await asyncio.Event().wait()


async def pause() -> None:
    await asyncio.sleep(0.2)


async def click(timeout: float) -> None:  # noqa: ASYNC109  (as Playwright's own calls)
    await asyncio.sleep(0.2)


@pytest.mark.parametrize(
    ("seconds", "call", "ends"),
    [(0.01, close, True), (0.01, pause, False), (0.01, lambda: click(1), False), (0, pause, False)],
    ids=["without a timeout", "waits for a person", "has its own timeout", "steps have no timeout"],
)
def test_only_a_call_without_a_timeout_ends(
    seconds: float, call: Callable[[], Coroutine[None, None, None]], ends: bool
) -> None:
    with sync_playwright() as playwright, bounded(seconds):
        if not ends:
            playwright._sync(call())
            return
        with pytest.raises(TimedOut, match=r"Playwright\.close: the browser has not answered within 0\.01 s"):
            playwright._sync(call())
