"""Which browser to drive: found in a fixed order, started in one of two profiles."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserType, Playwright

Kind = Literal["chromium", "firefox", "webkit"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

SHELL = "chromium-headless-shell"
"""Debian's package of this name is always of the version of its package `chromium`."""

INSTALL_SECONDS = 240
REMEMBERED_SECONDS = 24 * 3600
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
        r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
    ),
    "firefox": (
        "/Applications/Firefox.app/Contents/MacOS/firefox",
        r"C:\Program Files\Mozilla Firefox\firefox.exe",
    ),
    "webkit": (),
}
DEBIAN_PACKAGES: Final[Mapping[Kind, str]] = {"chromium": "chromium", "firefox": "firefox-esr"}
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

AS_PEOPLE_HAVE_IT: Final = {
    "dom.disable_open_during_load": True,
    "dom.min_background_timeout_value": 1000,
    "dom.min_background_timeout_value_without_budget_throttling": 1000,
    "dom.timeout.enable_budget_timer_throttling": True,
}
"""Firefox's own popup blocker and throttling, which Playwright switches off; its back-forward cache stays on."""

CALM: Final = {"ui.prefersReducedMotion": 1}
"""What a context cannot ask of a Firefox: that pages show no animations."""

REMEDIES: Final[Mapping[Kind, str]] = {
    "chromium": "No browser was found. Name one with CHATKEY_BROWSER=/path/to/chromium (Chrome and Edge will do), "
    "or run `python -m playwright install chromium` on a machine that reaches the internet.",
    "firefox": "No Firefox was found. Name one with CHATKEY_BROWSER=/path/to/firefox, "
    "or run `python -m playwright install firefox` on a machine that reaches the internet.",
    "webkit": "No WebKit was found. Only Playwright's own build can be driven, not a Safari: "
    "run `python -m playwright install webkit` on a machine that reaches the internet.",
}


class NoBrowserError(Exception):
    """No browser to drive; the message says what was tried and what to do."""


class Profile(StrEnum):
    """How a browser is started."""

    DEFAULT = "default"
    REALISTIC = "realistic"
    """Popup blocker, back-forward cache and throttling on, as people have them."""


@dataclass(frozen=True, slots=True)
class Found:
    """A browser: what drives it, its executable (None: Playwright's own), and how it was found.

    `shell` is the same browser without windows: quicker, and used where nobody looks and nothing depends on windows.
    """

    kind: Kind
    executable: str | None
    how: str
    shell: str | None = None

    def __str__(self) -> str:
        beside = f", {self.shell}" if self.shell else ""
        return f"{self.executable or f'the {self.kind} of Playwright'}{beside} ({self.how})"


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
    own: Mapping[Kind, Path]
    which: Callable[[str], str | None] = shutil.which
    is_file: Callable[[str], bool] = os.path.isfile
    run: Callable[[list[str], float], bool] = _succeeds
    is_root: bool = hasattr(os, "geteuid") and os.geteuid() == 0
    now: Callable[[], float] = time.time


def kind_of(wanted: str) -> Kind:
    """Return the kind of browser that a kind, a path or a command means; nothing means Chromium."""
    name = Path(wanted).name.lower()
    for kind in KINDS:
        if kind in name:
            return kind
    return "chromium"


def find(machine: Machine) -> Found:
    """Return the browser at the path or command in `CHATKEY_BROWSER`, or else the first of its kind (Chromium, where
    it names none) of: Playwright's own, the same after installing it, the system's, Debian's package when we are root.

    Raises `NoBrowserError`; a `CHATKEY_BROWSER` that is set but wrong is an error, not a reason to look on.
    """
    wanted = machine.environ.get("CHATKEY_BROWSER", "")
    kind = kind_of(wanted)
    if wanted and wanted not in KINDS:
        return _named(machine, wanted, kind)
    for look in (_playwrights, _installed_now, _systems, _debians):
        found = look(machine, kind)
        if found:
            return found
    raise NoBrowserError(REMEDIES[kind])


def machine(playwright: Playwright, environ: Mapping[str, str] = os.environ) -> Machine:
    """Return this machine."""
    types = (playwright.chromium, playwright.firefox, playwright.webkit)
    return Machine(environ, {kind: Path(own.executable_path) for kind, own in zip(KINDS, types, strict=True)})


def launch(
    playwright: Playwright,
    found: Found,
    *,
    profile: Profile = Profile.DEFAULT,
    headed: bool = False,
    trusted_spki: str | None = None,
    args: tuple[str, ...] = (),
) -> Browser:
    """Start the browser. `trusted_spki` is the key of the CA that a Chromium is to trust."""
    options = launch_options(found, profile=profile, headed=headed, trusted_spki=trusted_spki, args=args)
    browser_type: BrowserType = getattr(playwright, found.kind)
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
    realistic = profile is Profile.REALISTIC
    if found.kind == "chromium":
        options["args"] = [*arguments(trusted_spki=trusted_spki), *args]
        if found.shell and not (headed or realistic):
            options["executable_path"] = found.shell
        return {**options, "ignore_default_args": list(TEST_CONVENIENCES)} if realistic else options
    if found.kind == "firefox":
        options["firefox_user_prefs"] = AS_PEOPLE_HAVE_IT if realistic else CALM
    if found.kind == "firefox" and found.executable:  # Playwright's own build is driven by a protocol of its own
        options["channel"] = "moz-firefox"
    return options


def arguments(*, trusted_spki: str | None = None) -> list[str]:
    """Return the arguments with which a Chromium starts anywhere, and trusts one CA by its key."""
    as_root = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    trust = (f"--ignore-certificate-errors-spki-list={trusted_spki}",) if trusted_spki else ()
    return [*CLOSED_NETWORK, *as_root, *trust]


def _named(machine: Machine, wanted: str, kind: Kind) -> Found:
    executable = wanted if machine.is_file(wanted) else machine.which(wanted)
    if executable is None:
        raise NoBrowserError(f"CHATKEY_BROWSER is {wanted!r}, which is neither a file nor a command. {REMEDIES[kind]}")
    is_own = executable == str(machine.own[kind])
    return Found(kind, None if is_own else executable, "CHATKEY_BROWSER")


def _playwrights(machine: Machine, kind: Kind) -> Found | None:
    if machine.is_file(str(machine.own[kind])):
        return Found(kind, None, "installed by Playwright")
    return None


def _installed_now(machine: Machine, kind: Kind) -> Found | None:
    """Install Playwright's browser; a failure is remembered for a day, so that not every run waits for it."""
    failed = _cache_folder(machine) / f"playwright-install-{kind}-failed"
    if failed.exists() and machine.now() - failed.stat().st_mtime < REMEMBERED_SECONDS:
        return None
    if machine.run([sys.executable, "-m", "playwright", "install", kind], INSTALL_SECONDS):
        return _playwrights(machine, kind)
    failed.parent.mkdir(parents=True, exist_ok=True)
    failed.touch()
    return None


def _systems(machine: Machine, kind: Kind) -> Found | None:
    named = (machine.which(name) for name in SYSTEM_NAMES[kind])
    placed = (path for path in SYSTEM_PATHS[kind] if machine.is_file(path))
    executable = next(filter(None, (*named, *placed)), None)
    if executable is None:
        return None
    shell = machine.which(SHELL) if Path(executable).name == "chromium" else None
    return Found(kind, executable, "installed on this machine", shell)


def _debians(machine: Machine, kind: Kind) -> Found | None:
    apt, package = machine.which("apt-get"), DEBIAN_PACKAGES.get(kind)
    if not (machine.is_root and apt and package):
        return None
    install = [apt, "install", "--yes", "--no-install-recommends"]
    if not (machine.run([apt, "update"], INSTALL_SECONDS) and machine.run([*install, package], INSTALL_SECONDS)):
        return None
    if kind == "chromium":
        machine.run([*install, SHELL], INSTALL_SECONDS)  # older Debians have none: it is quicker, not needed
    found = _systems(machine, kind)
    return replace(found, how="Debian's package, just installed") if found else None


def _cache_folder(machine: Machine) -> Path:
    base = machine.environ.get("XDG_CACHE_HOME") or Path(machine.environ.get("HOME") or Path.home()) / ".cache"
    return Path(base) / "chatkey"
