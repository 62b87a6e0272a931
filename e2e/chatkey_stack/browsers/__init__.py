"""The browsers that demo and test harness drive: find one, install one on request, and start it."""

from chatkey_stack.browsers.launch import ONE_COMPILER, REALISTIC, arguments, launch, launch_options, located
from chatkey_stack.browsers.search import KINDS, NO_BROWSER, Found, Kind, NoBrowserError, find, kind_of, machine

__all__ = [
    "KINDS",
    "NO_BROWSER",
    "ONE_COMPILER",
    "REALISTIC",
    "Found",
    "Kind",
    "NoBrowserError",
    "arguments",
    "find",
    "kind_of",
    "launch",
    "launch_options",
    "located",
    "machine",
]
