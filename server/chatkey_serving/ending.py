"""How a program that serves ends when the system asks it to: its `with` blocks are left."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

HANG_UP: Final = getattr(signal, "SIGHUP", None)
"""Sent when the terminal is closed; Windows has none."""
ENDINGS: Final = (signal.SIGTERM, *([HANG_UP] if HANG_UP else []))


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end this program as Ctrl-C does while the block lasts.

    Only the first of them interrupts: a second one would interrupt the cleaning up. A signal that has a handler, or is
    ignored (`nohup`), stays as it is.
    """
    in_main = threading.current_thread() is threading.main_thread()
    ours = [ending for ending in ENDINGS if in_main and signal.getsignal(ending) is signal.SIG_DFL]

    def end(number: int, frame: FrameType | None) -> None:
        for ending in ours:
            signal.signal(ending, signal.SIG_IGN)
        signal.default_int_handler(number, frame)

    def hang_up(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)  # uvicorn has a handler for this one only, while it serves

    for ending in ours:
        signal.signal(ending, hang_up if ending is HANG_UP else end)
    try:
        yield
    finally:
        for ending in ours:
            signal.signal(ending, signal.SIG_DFL)
