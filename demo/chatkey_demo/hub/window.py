"""Opens the demo's page in the user's browser. With TLS, uses a Chromium that trusts the CA of this run."""

import os
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from chatkey_stack import browsers
from chatkey_stack.tls import Certificates

Start = Callable[[str, Certificates | None], object]

ENDS_WITHIN = 5.0
NO_SCREEN = "No browser could be opened: open the first address yourself."
NOT_TRUSTED = "CHATKEY_BROWSER names a browser that cannot be configured to trust this run's certificates: see below."


@dataclass(frozen=True, slots=True)
class Window:
    """The browser that shows the page, if any. `note` says what people must do themselves, if anything."""

    start: Start | None = None
    note: str | None = None

    def open(self, url: str, certificates: Certificates | None) -> None:
        """Open the page, if a browser was found."""
        if self.start is not None:
            self.start(url, certificates)


@contextmanager
def window(*, wanted: bool, tls: bool) -> Iterator[Window]:
    """Find a browser for the page. If the browser was started only for this run, close the browser at the end."""
    if not wanted:
        yield Window()
    elif not has_screen():
        yield Window(note=NO_SCREEN)
    elif tls:
        with _chromium() as found:
            yield found
    else:
        yield _own_browser()


def has_screen(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> bool:
    """Return whether windows can be opened. Without a screen, `webbrowser` may start a text browser in the terminal."""
    return platform in {"darwin", "win32"} or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def _own_browser() -> Window:
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return Window(note=NO_SCREEN)
    return Window(lambda url, _: browser.open(url))


@contextmanager
def _chromium() -> Iterator[Window]:
    """Find the browser that the test harness would use, and start the browser with a new profile."""
    try:
        executable = _executable()
    except browsers.NoBrowserError as error:
        yield Window(note=str(error))
        return
    if executable is None:
        yield Window(note=NOT_TRUSTED)
        return
    started: list[subprocess.Popen[bytes]] = []
    with TemporaryDirectory(prefix="chatkey-browser-", ignore_cleanup_errors=True) as profile:
        try:
            yield Window(lambda url, certificates: started.append(_start(executable, profile, url, certificates)))
        finally:
            for browser in started:
                _end(browser)


def _executable() -> str | None:
    """Return the path of a Chromium, or None if `CHATKEY_BROWSER` names another browser."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (needed over TLS only, and slow to import)

    with sync_playwright() as playwright:
        found = browsers.find(browsers.machine(playwright))
        own = playwright.chromium.executable_path
    return (found.executable or own) if found.kind == "chromium" else None


def _start(executable: str, profile: str, url: str, certificates: Certificates | None) -> subprocess.Popen[bytes]:
    trusted = certificates.spki if certificates else None
    arguments = browsers.arguments(trusted_spki=trusted)
    return subprocess.Popen(  # noqa: S603  (a browser, found by us)
        [executable, f"--user-data-dir={profile}", "--no-default-browser-check", *arguments, url],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C must reach only the demo, which then ends the browser
    )


def _end(browser: subprocess.Popen[bytes]) -> None:
    browser.terminate()
    try:
        browser.wait(ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        browser.kill()
        browser.wait()
