"""The sign-in popup: opened within the click, and watched until it closes."""

import asyncio
from typing import Any, Final

import js
from pyodide.ffi import JsException, jsnull

from chatkey_widget.browser.js_values import member
from chatkey_widget.ports import PopupListener

NAME: Final = "chatkey-sign-in"
WIDTH: Final = 480
HEIGHT: Final = 680
BLANK: Final = "about:blank"
LOOK_SECONDS: Final = 0.25
LOOKS: Final = 2
"""So many checks must find another site's page. One is not enough: a popup that is being cut off first seems open."""

GRACE_SECONDS: Final = 0.5
"""A message that was sent just before the window closed may arrive up to this long after."""


class BrowserPopups:
    """Opens and watches the sign-in window. There is at most one."""

    def __init__(self) -> None:
        self._window: Any = None
        self._watch: asyncio.TimerHandle | None = None
        self._looks_at_others = 0

    def open(self, url: str, listener: PopupListener) -> bool:
        """Open the window at once. Returns whether the browser opened it."""
        self.close()
        try:
            opened = js.window.open(url, NAME, _features())
        except (JsException, TypeError):  # window.open throws, or is no function
            return False
        # Do not test truth: for Python, a window without frames is empty and therefore false.
        if opened is None or opened is jsnull:
            return False
        self._window = opened
        self._looks_at_others = 0
        self._look_later(listener)
        return True

    def close(self) -> None:
        """Close the window and stop watching it."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if self._window is not None:
            self._window.close()
        self._window = None

    def is_source(self, event: Any) -> bool:
        """Return whether a message event comes from the popup.

        If the popup is closed when the message arrives, some browsers (Firefox) no longer know the sender. Then the
        message's origin and nonce still identify it (D-09).
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
    """Return window features that place it in the middle of the page.

    They do not include `noopener`, because the callback page must find its opener (D-09).
    """
    left = js.window.screenX + max(0, (js.window.outerWidth - WIDTH) // 2)
    top = js.window.screenY + max(0, (js.window.outerHeight - HEIGHT) // 2)
    return f"popup,width={WIDTH},height={HEIGHT},left={left:.0f},top={top:.0f}"
