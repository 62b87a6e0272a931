"""Installs a browser on request. Nothing else in chatkey installs software."""

from __future__ import annotations

import shlex
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
    failures: list[str] = []
    for get in (_playwrights, _debians):
        failures.append(get(machine, kind))
        if found := installed(machine, kind):
            return found
    another = f"Set CHATKEY_BROWSER=/path/to/{kind} to use another."
    said = (too_old(machine, kind), f"No {NAMES[kind]} could be installed.", *failures, another)
    raise NoBrowserError(" ".join(filter(None, said)))


def _playwrights(machine: Machine, kind: Kind) -> str:
    """Install Playwright's build. Return why this failed, or an empty text."""
    return _failed(machine, [sys.executable, "-m", "playwright", "install", kind])


def _debians(machine: Machine, kind: Kind) -> str:
    """Install Debian's package. Return why this failed, or an empty text.

    If the list of packages cannot be updated, the old list is used.
    """
    apt, package = machine.which("apt-get"), DEBIAN_PACKAGES.get(kind)
    if package is None:
        return "There is no other build that Playwright can drive."
    if not (machine.is_root and apt):
        return "Only root can install Debian's package."
    get = [apt, "install", "--yes", "--no-install-recommends"]
    not_updated = _failed(machine, [apt, "update"])
    if failed := _failed(machine, [*get, package]):
        return f"{not_updated} {failed}".strip()
    if kind == "chromium":
        machine.run([*get, SHELL], SECONDS)  # missing in older Debians; only faster, not required
    return ""


def _failed(machine: Machine, command: list[str]) -> str:
    reason = machine.run(command, SECONDS)
    return "" if reason is None else f"`{shlex.join(command)}` failed: {reason.rstrip('.')}."
