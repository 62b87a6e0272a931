"""Bounds the calls of Playwright that have no timeout, such as `page.close()` and `page.evaluate()`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import getcoroutinelocals
from types import CoroutineType
from typing import Any

from playwright._impl._sync_base import SyncBase
from playwright.sync_api import TimeoutError as TimedOut

ENDLESS = {"pause"}
"""Calls that wait for a person."""


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """During the context, let every call of Playwright without a timeout of its own fail after `seconds`, if not 0."""
    unbounded = SyncBase._sync  # noqa: SLF001  (every call of the synchronous API passes here, and nowhere else)

    def sync(self: SyncBase, call: CoroutineType[Any, Any, Any]) -> Any:
        __tracebackhide__ = True  # as in Playwright's: the failing line is the test's
        has_own = call.__name__ in ENDLESS or "timeout" in getcoroutinelocals(call)
        return unbounded(self, call if has_own else _within(seconds, type(self).__name__, call))

    if seconds:
        SyncBase._sync = sync  # type: ignore[assignment, method-assign]  # noqa: SLF001
    try:
        yield
    finally:
        SyncBase._sync = unbounded  # type: ignore[method-assign]  # noqa: SLF001


async def _within(seconds: float, of: str, call: CoroutineType[Any, Any, Any]) -> Any:
    __tracebackhide__ = True
    try:
        async with asyncio.timeout(seconds):
            return await call
    except TimeoutError:
        raise TimedOut(f"{of}.{call.__name__}: the browser has not answered within {seconds:g} s.") from None
