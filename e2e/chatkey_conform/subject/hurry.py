"""Ends a call that takes too long as a whole, although each of its steps is quick."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Final, TypeVar

import httpx

from chatkey_stack.patience import PATIENCE

T = TypeVar("T")

SLOWEST: Final = PATIENCE
"""Seconds after which a response that drips in counts as none."""


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return the result of `call`. Raises `httpx.ReadTimeout`, and leaves the call behind, if it takes too long."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised by `result`
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():
            raise
        raise httpx.ReadTimeout(f"the response was not complete after {seconds:g} s") from None
