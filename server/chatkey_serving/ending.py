"""Makes a server program exit through its `with` blocks on SIGTERM and SIGHUP."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

HANG_UP: Final = getattr(signal, "SIGHUP", None)
"""The signal that is sent when the terminal closes. None on Windows."""
ENDINGS: Final = (signal.SIGTERM, *([HANG_UP] if HANG_UP else []))


@contextmanager
def ended_in_order() -> Iterator[None]:
    """During the block, SIGTERM and SIGHUP end this program in the same way as Ctrl-C.

    Only the first signal interrupts, because a second one would interrupt the cleanup. Signals that are ignored
    (`nohup`) or already have a handler are not changed.
    """
    in_main = threading.current_thread() is threading.main_thread()
    ours = [ending for ending in ENDINGS if in_main and signal.getsignal(ending) is signal.SIG_DFL]

    def end(number: int, frame: FrameType | None) -> None:
        for ending in ours:
            signal.signal(ending, signal.SIG_IGN)
        signal.default_int_handler(number, frame)

    def hang_up(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)  # a running server handles SIGTERM but not SIGHUP

    for ending in ours:
        signal.signal(ending, hang_up if ending is HANG_UP else end)
    try:
        yield
    finally:
        for ending in ours:
            signal.signal(ending, signal.SIG_DFL)
