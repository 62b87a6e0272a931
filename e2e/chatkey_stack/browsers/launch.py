"""How a browser is started: where it is, what nobody here needs of it, and which CA it trusts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
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


REALISTIC: Final[Mapping[str, Any]] = MappingProxyType(
    {"ignore_default_args": list(TEST_CONVENIENCES), "firefox_user_prefs": AS_PEOPLE_HAVE_IT}
)
"""What to ask of a launch for popup blocker, back-forward cache and throttling as people have them."""

OVER_BIDI: Final = "moz-firefox"
"""The channel of any Firefox that is not Playwright's own build, which has a protocol of its own."""


def launch(
    playwright: Playwright,
    found: Found,
    *,
    headed: bool = False,
    trusted_spki: str | None = None,
    args: tuple[str, ...] = (),
) -> Browser:
    """Start the browser. `trusted_spki` is the key of the CA that a Chromium is to trust."""
    options = launch_options(found, {"headless": not headed, "args": args}, trusted_spki=trusted_spki)
    browser_type: BrowserType = getattr(playwright, found.kind)
    return browser_type.launch(**options)


def launch_options(
    found: Found, asked: Mapping[str, Any] = MappingProxyType({}), *, trusted_spki: str | None = None
) -> dict[str, Any]:
    """Return the keyword arguments for `launch` and `launch_persistent_context`, with what was `asked` kept.

    `args` are added to ours. What this function returned may be given to it again, with more that was asked.
    """
    options = located(found, asked)
    if found.kind == "chromium":
        ours = arguments(trusted_spki=trusted_spki)
        options["args"] = [*ours, *(argument for argument in asked.get("args", ()) if argument not in ours)]
    if found.kind == "firefox":
        options.setdefault("firefox_user_prefs", CALM)
    return options


def located(found: Found, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was `asked` of a launch, and where the browser is, unless that was said too."""
    if asked.get("executable_path") not in {None, found.executable, found.shell}:
        return dict(asked)
    options = {**asked, "executable_path": _executable(found, asked)}
    if found.kind == "firefox" and options["executable_path"]:
        options["channel"] = OVER_BIDI
    return options


def _executable(found: Found, asked: Mapping[str, Any]) -> str | None:
    if asked.get("channel") not in {None, OVER_BIDI}:
        return None  # Playwright knows where that one is
    somebody_looks = not asked.get("headless", not os.environ.get("PWDEBUG"))
    return found.executable if somebody_looks or "ignore_default_args" in asked else found.shell or found.executable


def arguments(*, trusted_spki: str | None = None) -> list[str]:
    """Return the arguments with which a Chromium starts anywhere, and trusts one CA by its key."""
    as_root = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    trust = (f"--ignore-certificate-errors-spki-list={trusted_spki}",) if trusted_spki else ()
    return [*CLOSED_NETWORK, *as_root, *trust]
