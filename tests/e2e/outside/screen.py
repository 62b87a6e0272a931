"""Accesses an X display as a user would: finds windows by title and presses keys."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

Window = ctypes.c_ulong
Handler = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
IGNORE: Final = Handler(lambda display, error: 0)
"""Ignores X errors. A window may close while it is being read, and Xlib would then end the process."""

F8: Final = 0xFFC5
"""The X keysym of F8, the shortcut of the inspector's Resume button (keysymdef.h)."""


class Text(ctypes.Structure):
    _fields_ = (
        ("value", ctypes.c_char_p),
        ("encoding", ctypes.c_ulong),
        ("format", ctypes.c_int),
        ("length", ctypes.c_ulong),
    )


class Screen:
    """An X display, accessed through Xlib and its XTEST extension."""

    def __init__(self, x11: ctypes.CDLL, test: ctypes.CDLL, display: ctypes.c_void_p) -> None:
        self._x11, self._test, self._display = x11, test, display

    def titles(self) -> dict[str, int]:
        """Return the ids of all windows that have a title, by title."""
        return dict(self._titled(self._x11.XDefaultRootWindow(self._display)))

    def press(self, window: int, key: int) -> None:
        self._x11.XSetInputFocus(self._display, Window(window), 1, 0)
        code = self._x11.XKeysymToKeycode(self._display, ctypes.c_ulong(key))
        for is_down in (1, 0):
            self._test.XTestFakeKeyEvent(self._display, code, is_down, ctypes.c_ulong(0))
        self._x11.XSync(self._display, 0)

    def _titled(self, window: int) -> Iterator[tuple[str, int]]:
        name = Text()
        if self._x11.XGetWMName(self._display, Window(window), ctypes.byref(name)) and name.value:
            yield name.value.decode(errors="replace"), window
        for child in self._children(window):
            yield from self._titled(child)

    def _children(self, window: int) -> list[int]:
        root, parent, count = Window(), Window(), ctypes.c_uint()
        children = ctypes.POINTER(Window)()
        told = map(ctypes.byref, (root, parent, children, count))
        self._x11.XQueryTree(self._display, Window(window), *told)
        return [children[at] for at in range(count.value)]


@contextmanager
def screen(name: str) -> Iterator[Screen]:
    x11, test = (ctypes.CDLL(ctypes.util.find_library(library)) for library in ("X11", "Xtst"))
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XDefaultRootWindow.restype = Window
    x11.XDefaultRootWindow.argtypes = [ctypes.c_void_p]
    display = ctypes.c_void_p(x11.XOpenDisplay(name.encode()))
    x11.XSetErrorHandler(IGNORE)
    assert display, f"there is no display {name}"
    yield Screen(x11, test, display)
    x11.XCloseDisplay(display)
