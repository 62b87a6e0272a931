"""The sign-in popup. It is opened within the click, and watched until it closes."""

import asyncio
from typing import Any, Final

import js
from pyodide.ffi import JsException, jsnull

from chatkey_widget.browser.js_values import member
from chatkey_widget.ports import Opened, PopupListener

WIDTH: Final = 480
HEIGHT: Final = 680
BLANK: Final = "about:blank"
LOOK_SECONDS: Final = 0.25
LOOKS: Final = 2
"""The number of checks that must find another site's page in the popup.

One check is not enough, because a popup that loses its connection to this page seems open at first.
"""

GRACE_SECONDS: Final = 0.5
"""The time in seconds for which a message is accepted after the window has closed."""


class BrowserPopups:
    def __init__(self) -> None:
        self._window: Any = None
        self._watch: asyncio.TimerHandle | None = None
        self._looks_at_others = 0

    def open(self, url: str, name: str, listener: PopupListener) -> Opened:
        """Open the window at once. If the browser opens the address in this page instead, stop it."""
        self.close()
        try:
            opened = js.window.open(url, name, _features())
        except (JsException, TypeError):  # window.open throws, or is no function
            return "nothing"
        # Do not test truth: for Python, a window without frames is empty and therefore false.
        if opened is None or opened is jsnull:
            return "nothing"
        if js.Object.is_(opened, js.window):
            js.window.stop()
            return "page"
        self._window = opened
        self._looks_at_others = 0
        self._look_later(listener)
        return "window"

    def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if self._window is not None:
            self._window.close()
        self._window = None

    def is_source(self, event: Any) -> bool:
        """Return whether a message event comes from the popup.

        If the popup has closed before the message is received, some browsers (Firefox) no longer report the sender. In
        that case, the origin and the nonce identify the message (D-09).
        """
        if self._window is None:
            return False
        source = member(event, "source")
        if source is None or source is jsnull:
            return bool(self._window.closed)
        return bool(js.Object.is_(source, self._window))

    def _look_later(self, listener: PopupListener) -> None:
        self._watch = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look, listener)

    def _look(self, listener: PopupListener) -> None:
        address = member(member(self._window, "location"), "href")
        if self._window.closed:
            blank = address == BLANK
            self._watch = asyncio.get_running_loop().call_later(GRACE_SECONDS, listener.closed, blank)
            return
        self._look_later(listener)
        if address is None:  # browsers hide the address of another site's page
            self._looks_at_others += 1
            if self._looks_at_others == LOOKS:
                listener.reached()


def _features() -> str:
    """Return window features that place the window in the middle of the page.

    They do not include `noopener`, because the callback page must find its opener (D-09).
    """
    left = js.window.screenX + max(0, (js.window.outerWidth - WIDTH) // 2)
    top = js.window.screenY + max(0, (js.window.outerHeight - HEIGHT) // 2)
    return f"popup,width={WIDTH},height={HEIGHT},left={left:.0f},top={top:.0f}"
