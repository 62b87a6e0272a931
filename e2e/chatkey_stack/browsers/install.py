"""Gets a browser, for those who ask for it: nothing else in chatkey changes a machine."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from chatkey_stack.browsers.search import KINDS, NAMES, SHELL, NoBrowserError, find, installed, kind_of, too_old

if TYPE_CHECKING:
    from chatkey_stack.browsers.search import Found, Kind, Machine

SECONDS: Final = 240
DEBIAN_PACKAGES: Final[Mapping[Kind, str]] = {"chromium": "chromium", "firefox": "firefox-esr"}


def install(machine: Machine) -> Found:
    """Return the browser that is wanted; where there is none of its kind, get Playwright's own, or else Debian's.

    Raises `NoBrowserError` where neither can be had, and for a `CHATKEY_BROWSER` that is no kind and is not there.
    """
    kind = kind_of(machine.wanted)
    if installed(machine, kind) or (machine.wanted and machine.wanted not in KINDS):
        return find(machine)
    for get in (_playwrights, _debians):
        get(machine, kind)
        if found := installed(machine, kind):
            return found
    raise NoBrowserError(" ".join(filter(None, (too_old(machine, kind), _why_not(machine, kind)))))


def _playwrights(machine: Machine, kind: Kind) -> None:
    machine.run([sys.executable, "-m", "playwright", "install", kind], SECONDS)


def _debians(machine: Machine, kind: Kind) -> None:
    apt, package = machine.which("apt-get"), DEBIAN_PACKAGES.get(kind)
    if not (machine.is_root and apt and package):
        return
    get = [apt, "install", "--yes", "--no-install-recommends"]
    if not (machine.run([apt, "update"], SECONDS) and machine.run([*get, package], SECONDS)):
        return
    if kind == "chromium":
        machine.run([*get, SHELL], SECONDS)  # older Debians have none: it is quicker, not needed


def _why_not(machine: Machine, kind: Kind) -> str:
    own = f"No {NAMES[kind]} could be installed: `python -m playwright install {kind}` failed, and "
    package = DEBIAN_PACKAGES.get(kind)
    if package is None:
        return f"{own}there is no other that can be driven."
    if machine.is_root and machine.which("apt-get"):
        return f"{own}so did `apt-get install {package}`. Name one with CHATKEY_BROWSER=/path/to/{kind}."
    return f"{own}only root can install Debian's. Name one with CHATKEY_BROWSER=/path/to/{kind}."
