"""Which browser to drive: found in a fixed order, started in one of two profiles."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

Kind = Literal["chromium", "firefox"]

INSTALL_SECONDS = 240
REMEMBERED_SECONDS = 24 * 3600
SYSTEM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
SYSTEM_PATHS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
CLOSED_NETWORK = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
"""Nothing here needs the internet; without these, Chromium tries and waits for it."""

TEST_CONVENIENCES = (
    "--disable-popup-blocking",
    "--disable-back-forward-cache",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
)
"""What Playwright switches off by default and people's browsers have on."""

ONE_COMPILER = ("--js-flags=--no-wasm-tier-up --no-wasm-dynamic-tiering",)
"""A page that lives for a second gains nothing from compiling its WebAssembly twice, and pays a fifth of its CPU."""

REMEDY = (
    "No browser was found. Name one with CHATKEY_BROWSER=/path/to/chromium (Chrome and Edge will do), "
    "or run `python -m playwright install chromium` on a machine that reaches the internet."
)


class NoBrowserError(Exception):
    """No browser to drive; the message says what was tried and what to do."""


class Profile(StrEnum):
    """How a browser is started."""

    DEFAULT = "default"
    REALISTIC = "realistic"
    """Popup blocker, back-forward cache and throttling on, as people have them."""


@dataclass(frozen=True, slots=True)
class Found:
    """A browser: what drives it, its executable (None: Playwright's own), and how it was found."""

    kind: Kind
    executable: str | None
    how: str

    def __str__(self) -> str:
        return f"{self.executable or f'the {self.kind} of Playwright'} ({self.how})"


def _succeeds(command: list[str], seconds: float) -> bool:
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)  # noqa: S603  (ours)
    except (subprocess.TimeoutExpired, OSError):
        return False
    return done.returncode == 0


@dataclass(frozen=True, slots=True)
class Machine:
    """What the search looks at and does, so that a test can be another machine."""

    environ: Mapping[str, str]
    own_executable: Path
    which: Callable[[str], str | None] = shutil.which
    is_file: Callable[[str], bool] = os.path.isfile
    run: Callable[[list[str], float], bool] = _succeeds
    is_root: bool = hasattr(os, "geteuid") and os.geteuid() == 0
    now: Callable[[], float] = time.time


def find(machine: Machine) -> Found:
    """Return the first browser of: `CHATKEY_BROWSER`, Playwright's own, the same after installing it, the system's,
    Debian's package when we are root.

    Raises `NoBrowserError`; a `CHATKEY_BROWSER` that is set but wrong is an error, not a reason to look on.
    """
    for look in (_named, _playwrights, _installed_now, _systems, _debians):
        found = look(machine)
        if found:
            return found
    raise NoBrowserError(REMEDY)


def machine(playwright: Playwright, environ: Mapping[str, str] = os.environ) -> Machine:
    """Return this machine."""
    return Machine(environ, Path(playwright.chromium.executable_path))


def launch(
    playwright: Playwright,
    found: Found,
    *,
    profile: Profile = Profile.DEFAULT,
    headed: bool = False,
    trusted_spki: str | None = None,
    args: tuple[str, ...] = (),
) -> Browser:
    """Start the browser. `trusted_spki` is the key of the CA to trust, every other certificate check stays."""
    options = launch_options(found, profile=profile, headed=headed, trusted_spki=trusted_spki, args=args)
    browser_type = playwright.firefox if found.kind == "firefox" else playwright.chromium
    return browser_type.launch(**options)


def launch_options(
    found: Found,
    *,
    profile: Profile = Profile.DEFAULT,
    headed: bool = False,
    trusted_spki: str | None = None,
    args: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the keyword arguments for Playwright's `launch` and `launch_persistent_context`."""
    options: dict[str, Any] = {"headless": not headed, "executable_path": found.executable}
    if found.kind == "firefox":
        return {**options, "channel": "moz-firefox"}
    options["args"] = [*arguments(trusted_spki=trusted_spki), *args]
    if profile is Profile.REALISTIC:
        options["ignore_default_args"] = list(TEST_CONVENIENCES)
    return options


def arguments(*, trusted_spki: str | None = None) -> list[str]:
    """Return the arguments with which a Chromium starts anywhere, and trusts one CA by its key."""
    as_root = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    trust = (f"--ignore-certificate-errors-spki-list={trusted_spki}",) if trusted_spki else ()
    return [*CLOSED_NETWORK, *as_root, *trust]


def _named(machine: Machine) -> Found | None:
    wanted = machine.environ.get("CHATKEY_BROWSER", "")
    if not wanted:
        return None
    executable = wanted if machine.is_file(wanted) else machine.which(wanted)
    if executable is None:
        raise NoBrowserError(f"CHATKEY_BROWSER is {wanted!r}, which is neither a file nor a command. {REMEDY}")
    kind: Kind = "firefox" if "firefox" in Path(executable).name.lower() else "chromium"
    return Found(kind, executable, "CHATKEY_BROWSER")


def _playwrights(machine: Machine) -> Found | None:
    if machine.is_file(str(machine.own_executable)):
        return Found("chromium", None, "installed by Playwright")
    return None


def _installed_now(machine: Machine) -> Found | None:
    """Install Playwright's browser; a failure is remembered for a day, so that not every run waits for it."""
    failed = _cache_folder(machine) / "playwright-install-failed"
    if failed.exists() and machine.now() - failed.stat().st_mtime < REMEMBERED_SECONDS:
        return None
    if machine.run([sys.executable, "-m", "playwright", "install", "chromium"], INSTALL_SECONDS):
        return _playwrights(machine)
    failed.parent.mkdir(parents=True, exist_ok=True)
    failed.touch()
    return None


def _systems(machine: Machine) -> Found | None:
    named = (machine.which(name) for name in SYSTEM_NAMES)
    placed = (path for path in SYSTEM_PATHS if machine.is_file(path))
    executable = next(filter(None, (*named, *placed)), None)
    return Found("chromium", executable, "installed on this machine") if executable else None


def _debians(machine: Machine) -> Found | None:
    apt = machine.which("apt-get")
    if not (machine.is_root and apt):
        return None
    install = [apt, "install", "--yes", "--no-install-recommends", "chromium"]
    if not (machine.run([apt, "update"], INSTALL_SECONDS) and machine.run(install, INSTALL_SECONDS)):
        return None
    executable = machine.which("chromium")
    return Found("chromium", executable, "Debian's package, just installed") if executable else None


def _cache_folder(machine: Machine) -> Path:
    base = machine.environ.get("XDG_CACHE_HOME") or Path(machine.environ.get("HOME") or Path.home()) / ".cache"
    return Path(base) / "chatkey"
