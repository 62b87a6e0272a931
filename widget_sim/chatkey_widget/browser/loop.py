"""The page's event loop. It is Pyodide's loop, but cancelling a timer also removes it from the browser."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any, Final, TypeVarTuple

import js
from pyodide.ffi import create_proxy
from pyodide.webloop import WebLoop

AT_ONCE_MS: Final = 2.0
"""The longest delay, in milliseconds, for which Pyodide sends itself a message instead of setting a timer.

Browsers do not delay messages.
"""

LONGEST_MS: Final = 2.0**31 - 1
"""The longest delay of a timer, in milliseconds. Browsers fire timers with a longer delay immediately."""

Ts = TypeVarTuple("Ts")


class PageLoop(WebLoop):
    """Pyodide's loop, except that a cancelled timer is freed immediately.

    Without this class, a cancelled timer and its data would stay in memory until the timer is due.
    """

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        milliseconds = delay * 1000
        if milliseconds <= AT_ONCE_MS:
            return super().call_later(max(0.0, delay), callback, *args, context=context)
        return Timer(self, milliseconds, callback, args, context)

    def _timer_handle_cancelled(self, handle: "Timer") -> None:
        handle.clear()


class Timer(asyncio.TimerHandle):
    def __init__(
        self,
        loop: PageLoop,
        milliseconds: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context | None,
    ) -> None:
        super().__init__(loop.time() + milliseconds / 1000, callback, args, loop, context)
        self._page_loop = loop
        self._proxy: Any = create_proxy(self._due)
        self._number = js.setTimeout(self._proxy, min(milliseconds, LONGEST_MS))

    def clear(self) -> None:
        """Cancel the browser's timer, unless it has already fired."""
        if self._proxy is not None:
            js.clearTimeout(self._number)
            self._proxy.destroy()
            self._proxy = None

    def _due(self) -> None:
        self.clear()
        self._page_loop.call_soon(self._run_unless_cancelled)

    def _run_unless_cancelled(self) -> None:
        if not self.cancelled():
            self._run()


def use_page_loop() -> None:
    """Make this the event loop of the page's Python. Must be called before any other use of asyncio."""
    if not isinstance(asyncio.get_event_loop(), PageLoop):
        asyncio.set_event_loop(PageLoop())
