"""Installs a browser on request. Nothing else in chatkey installs software."""

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
    """Return the wanted browser.

    If no browser of this kind exists, install Playwright's build, or else Debian's package. Raises `NoBrowserError` if
    neither can be installed, or if `CHATKEY_BROWSER` is a path or command that does not exist.
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
        machine.run([*get, SHELL], SECONDS)  # missing in older Debians; only faster, not required


def _why_not(machine: Machine, kind: Kind) -> str:
    own = f"No {NAMES[kind]} could be installed: `python -m playwright install {kind}` failed, and "
    package = DEBIAN_PACKAGES.get(kind)
    if package is None:
        return f"{own}there is no other build that Playwright can drive."
    if machine.is_root and machine.which("apt-get"):
        return f"{own}so did `apt-get install {package}`. Set CHATKEY_BROWSER=/path/to/{kind} to use another."
    return f"{own}only root can install Debian's. Set CHATKEY_BROWSER=/path/to/{kind} to use another."
