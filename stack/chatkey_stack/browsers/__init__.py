"""The browsers that demo and harness drive: how one is found, got on request, and started."""

from chatkey_stack.browsers.launch import ONE_COMPILER, Profile, arguments, launch, launch_options
from chatkey_stack.browsers.search import KINDS, NO_BROWSER, Found, Kind, NoBrowserError, find, kind_of, machine

__all__ = [
    "KINDS",
    "NO_BROWSER",
    "ONE_COMPILER",
    "Found",
    "Kind",
    "NoBrowserError",
    "Profile",
    "arguments",
    "find",
    "kind_of",
    "launch",
    "launch_options",
    "machine",
]
