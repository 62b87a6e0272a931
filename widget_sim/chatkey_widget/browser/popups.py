"""The sign-in popup: opened within the click, watched until it is gone."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import js
from pyodide.ffi import JsException, jsnull

from chatkey_widget.browser.js_values import member

NAME: Final = "chatkey-sign-in"
WIDTH: Final = 480
HEIGHT: Final = 680
LOOK_SECONDS: Final = 0.25
GRACE_SECONDS: Final = 0.5
"""A message sent just before the window closed may still arrive this long after."""


class BrowserPopups:
    """At most one popup."""

    def __init__(self) -> None:
        self._window: Any = None
        self._watch: asyncio.TimerHandle | None = None

    def open(self, url: str, closed: Callable[[], None]) -> bool:
        """Open it at once; tell whether the browser did."""
        self.close()
        try:
            opened = js.window.open(url, NAME, _features())
        except JsException:
            return False
        # Not by truth: Python finds a window without frames empty, and so false.
        if opened is None or opened is jsnull:
            return False
        self._window = opened
        self._look_later(closed)
        return True

    def close(self) -> None:
        """Close and forget it."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if self._window is not None:
            self._window.close()
        self._window = None

    def is_source(self, event: Any) -> bool:
        """Tell whether a message event comes from the popup."""
        return self._window is not None and bool(js.Object.is_(member(event, "source"), self._window))

    def _look_later(self, closed: Callable[[], None]) -> None:
        self._watch = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look, closed)

    def _look(self, closed: Callable[[], None]) -> None:
        if self._window.closed:
            self._watch = asyncio.get_running_loop().call_later(GRACE_SECONDS, closed)
        else:
            self._look_later(closed)


def _features() -> str:
    """In the middle of the page. No `noopener`: the callback page must find its opener (D-09)."""
    left = js.window.screenX + max(0, (js.window.outerWidth - WIDTH) // 2)
    top = js.window.screenY + max(0, (js.window.outerHeight - HEIGHT) // 2)
    return f"popup,width={WIDTH},height={HEIGHT},left={left:.0f},top={top:.0f}"
