"""How a browser is started: in one of two profiles, and trusting one CA."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserType, Playwright

    from chatkey_stack.browsers.search import Found

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


class Profile(StrEnum):
    """How a browser is started."""

    DEFAULT = "default"
    REALISTIC = "realistic"
    """Popup blocker, back-forward cache and throttling on, as people have them."""


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
