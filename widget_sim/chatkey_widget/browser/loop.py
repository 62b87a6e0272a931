"""The page's event loop: Pyodide's, but a timer that is cancelled leaves the browser at once, too."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any, Final, TypeVarTuple

import js
from pyodide.ffi import create_proxy
from pyodide.webloop import WebLoop

AT_ONCE_MS: Final = 2.0
"""Up to here Pyodide sets no timer, but sends itself a message, which browsers do not slow down."""

LONGEST_MS: Final = 2.0**31 - 1
"""Browsers fire timers of more at once."""

Ts = TypeVarTuple("Ts")


class PageLoop(WebLoop):
    """Pyodide's own keeps a cancelled timer, and all that it refers to, until its time has come."""

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call `callback` after `delay` seconds."""
        milliseconds = delay * 1000
        if milliseconds <= AT_ONCE_MS:
            return super().call_later(max(0.0, delay), callback, *args, context=context)
        return Timer(self, milliseconds, callback, args, context)

    def _timer_handle_cancelled(self, handle: "Timer") -> None:
        """Hear from asyncio that a timer was cancelled."""
        handle.clear()


class Timer(asyncio.TimerHandle):
    """One timer of the browser."""

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
        """Take it back, unless it has fired."""
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
    """Let this page's Python run on a loop of this kind; to be called before anything else of asyncio."""
    if not isinstance(asyncio.get_event_loop(), PageLoop):
        asyncio.set_event_loop(PageLoop())
