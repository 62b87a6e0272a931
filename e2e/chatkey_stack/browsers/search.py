"""Finds a browser, in a fixed order. Installs nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

Kind = Literal["chromium", "firefox", "webkit"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

NO_BROWSER: Final = 8
"""Exit status of every command that found no browser."""

OLDEST_FIREFOX: Final = 143
"""The oldest Firefox that supports what Playwright 1.64 needs over WebDriver BiDi (`network.addDataCollector`)."""

OLDEST_FIREFOX_SINCE_1_65: Final = 154
"""Firefox 153 has no `emulation.setMediaFeaturesOverride`, which Playwright needs since 1.65."""

SHELL: Final = "chromium-headless-shell"
"""Debian's package of this name always has the same version as Debian's `chromium`."""

SYSTEM_NAMES: Final[Mapping[Kind, tuple[str, ...]]] = {
    "chromium": (
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
        "chrome",
        "microsoft-edge",
    ),
    "firefox": ("firefox-esr", "firefox"),
    "webkit": (),
}
SYSTEM_PATHS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "chromium": (
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
        r"C:\Program Files\Google\Chrome\Application\chrome.exe",
        r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
        r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
        r"C:\Program Files\Microsoft\Edge\Application\msedge.exe",
    ),
    "firefox": (
        "/Applications/Firefox.app/Contents/MacOS/firefox",
        r"C:\Program Files\Mozilla Firefox\firefox.exe",
    ),
    "webkit": (),
}
NAMES: Final[Mapping[Kind, str]] = {"chromium": "Chromium", "firefox": "Firefox", "webkit": "WebKit"}
ALSO: Final[Mapping[Kind, str]] = {
    "chromium": ", or set CHATKEY_BROWSER=/path/to/chromium (Chrome and Edge work too).",
    "firefox": ", or set CHATKEY_BROWSER=/path/to/firefox.",
    "webkit": ". Playwright can drive only its own build, not Safari.",
}


class NoBrowserError(Exception):
    """No browser was found. The message says which command to type."""


@dataclass(frozen=True, slots=True)
class Found:
    """A browser: its kind, its executable (None for Playwright's own build), and how it was found.

    `shell` is the same browser without windows. The shell is faster, and is used if nobody watches and no test needs
    windows.
    """

    kind: Kind
    executable: str | None
    how: str
    shell: str | None = None

    def __str__(self) -> str:
        beside = f", {self.shell}" if self.shell else ""
        return f"{self.executable or f'the {self.kind} of Playwright'}{beside} ({self.how})"


def _failure(command: list[str], seconds: float) -> str | None:
    """Run a command. Return None if it succeeds, and otherwise the last line of its error output."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603  (ours)
    except (subprocess.TimeoutExpired, OSError) as error:
        return str(error)
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return None if done.returncode == 0 else (lines or [f"exit status {done.returncode}"])[-1]


def _version(executable: str) -> int | None:
    """Return a browser's major version, or None if it does not report one."""
    try:
        done = subprocess.run([executable, "--version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603  (theirs)
    except (subprocess.TimeoutExpired, OSError):
        return None
    said = re.search(r"(\d+)\.\d", done.stdout)
    return int(said[1]) if said else None


@dataclass(frozen=True, slots=True)
class Machine:
    """The parts of the machine that the search and the installation use. A test can replace these parts."""

    environ: Mapping[str, str]
    own: Mapping[Kind, Path]
    which: Callable[[str], str | None] = shutil.which
    is_file: Callable[[str], bool] = os.path.isfile
    run: Callable[[list[str], float], str | None] = _failure
    is_root: bool = hasattr(os, "geteuid") and os.geteuid() == 0
    version: Callable[[str], int | None] = _version
    oldest_firefox: int = OLDEST_FIREFOX

    @property
    def wanted(self) -> str:
        """The kind, path or command in `CHATKEY_BROWSER`, or empty for any browser."""
        return self.environ.get("CHATKEY_BROWSER", "")


def machine(playwright: Playwright, environ: Mapping[str, str] = os.environ) -> Machine:
    types = (playwright.chromium, playwright.firefox, playwright.webkit)
    own: dict[Kind, Path] = {kind: Path(own.executable_path) for kind, own in zip(KINDS, types, strict=True)}
    return Machine(environ, own, oldest_firefox=oldest_firefox(version_of("playwright")))


def oldest_firefox(playwright: str) -> int:
    """Return the oldest Firefox that this version of Playwright can drive, apart from Playwright's own build."""
    major, minor, *_ = playwright.split(".")
    return OLDEST_FIREFOX_SINCE_1_65 if (int(major), int(minor)) >= (1, 65) else OLDEST_FIREFOX


def kind_of(wanted: str) -> Kind:
    """Return the kind of browser that a kind, a path or a command names. The default is Chromium."""
    name = Path(wanted).name.lower()
    for kind in KINDS:
        if kind in name:
            return kind
    return "chromium"


def find(machine: Machine) -> Found:
    """Return the browser that `CHATKEY_BROWSER` asks for.

    A path or command means exactly this browser. A kind (by default Chromium) means Playwright's own build, or else the
    system's browser. Raises `NoBrowserError` if there is no such browser. If `CHATKEY_BROWSER` is wrong, no other
    browser is used.
    """
    kind = kind_of(machine.wanted)
    if machine.wanted and machine.wanted not in KINDS:
        return _named(machine, kind)
    found = installed(machine, kind)
    if found is None:
        raise NoBrowserError(too_old(machine, kind) or _missing(kind))
    return found


def too_old(machine: Machine, kind: Kind) -> str:
    """If an installed browser is too old, return a message with the command to type. Otherwise return an empty text."""
    return next((_too_old(machine, path, version) for path, version in _old_ones(machine, kind)), "")


def installed(machine: Machine, kind: Kind) -> Found | None:
    """Return the installed browser of this kind, or None."""
    if machine.is_file(str(machine.own[kind])):
        return Found(kind, None, "installed by Playwright")
    return _systems(machine, kind)


def _named(machine: Machine, kind: Kind) -> Found:
    wanted = machine.wanted
    executable = wanted if machine.is_file(wanted) else machine.which(wanted)
    if executable is None:
        raise NoBrowserError(f"CHATKEY_BROWSER is {wanted!r}, which is neither a file nor a command. {_missing(kind)}")
    is_own = executable == str(machine.own[kind])
    version = None if is_own else _old_version(machine, kind, executable)
    if version is not None:
        raise NoBrowserError(_too_old(machine, executable, version))
    return Found(kind, None if is_own else executable, "CHATKEY_BROWSER")


def _systems(machine: Machine, kind: Kind) -> Found | None:
    drivable = (each for each in _placed(machine, kind) if _old_version(machine, kind, each) is None)
    executable = next(drivable, None)
    if executable is None:
        return None
    shell = machine.which(SHELL) if Path(executable).name == "chromium" else None
    return Found(kind, executable, "installed on this machine", shell)


def _placed(machine: Machine, kind: Kind) -> Iterator[str]:
    """Yield the paths of the system's browsers of a kind. Preferred browsers come first."""
    yield from filter(None, map(machine.which, SYSTEM_NAMES[kind]))
    yield from filter(machine.is_file, SYSTEM_PATHS[kind])


def _old_ones(machine: Machine, kind: Kind) -> Iterator[tuple[str, int]]:
    for path in _placed(machine, kind):
        version = _old_version(machine, kind, path)
        if version is not None:
            yield path, version


def _old_version(machine: Machine, kind: Kind, executable: str) -> int | None:
    """Return the version of a browser that is too old to be used, or None for any other browser."""
    version = machine.version(executable) if kind == "firefox" else None
    return version if version is not None and version < machine.oldest_firefox else None


def _too_old(machine: Machine, executable: str, version: int) -> str:
    oldest = machine.oldest_firefox
    older = f"The Firefox at {executable} is version {version}; Playwright can drive {oldest} and newer. "
    if version >= OLDEST_FIREFOX:
        older += "Playwright 1.64 can drive it: `pip install 'playwright<1.65'`. "
    return f"{older}Install one: `chatkey browser --install firefox`{ALSO['firefox']}"


def _missing(kind: Kind) -> str:
    return f"No {NAMES[kind]} was found. Install one: `chatkey browser --install {kind}`{ALSO[kind]}"
