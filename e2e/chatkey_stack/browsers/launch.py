"""Starts a browser, with its executable, without some features, and with the CA that it must trust."""

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
"""Nothing here needs the internet. Without these options, Chromium tries to connect and waits."""

TEST_CONVENIENCES = (
    "--disable-popup-blocking",
    "--disable-back-forward-cache",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
)
"""Options that Playwright sets by default. They switch off features that people's browsers have."""

ONE_COMPILER = ("--js-flags=--no-wasm-tier-up --no-wasm-dynamic-tiering",)
"""Pages here live for a second: compiling their WebAssembly twice gains nothing and costs a fifth of the CPU time."""

AS_PEOPLE_HAVE_IT: Final = {
    "dom.disable_open_during_load": True,
    "dom.min_background_timeout_value": 1000,
    "dom.min_background_timeout_value_without_budget_throttling": 1000,
    "dom.timeout.enable_budget_timer_throttling": True,
}
"""Turns on Firefox's popup blocker and timer throttling, which Playwright turns off. The back-forward cache is on."""

FAKE_MICROPHONE = ("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream")
"""A microphone that every page may use without a question. Machines for tests have none."""

CALM: Final = {"ui.prefersReducedMotion": 1}
"""Tells Firefox pages to show no animations. A browser context cannot set this for Firefox."""

FAKE_HERTZ_OF_FIREFOX: Final = 880
"""The tone that Firefox's fake microphone hears."""

FAKE_MICROPHONE_OF_FIREFOX: Final = {
    "media.navigator.streams.fake": True,
    "media.navigator.permission.disabled": True,
    "media.navigator.audio.fake_frequency": FAKE_HERTZ_OF_FIREFOX,
    "media.autoplay.default": 0,
    "media.peerconnection.ice.obfuscate_host_addresses": False,
    "media.peerconnection.ice.loopback": True,
}
"""A microphone that every page may use without a question, and calls on machines without a network."""

REALISTIC: Final[Mapping[str, Any]] = MappingProxyType(
    {"ignore_default_args": list(TEST_CONVENIENCES), "firefox_user_prefs": AS_PEOPLE_HAVE_IT}
)
"""Launch options with which popup blocker, back-forward cache and throttling work as in people's browsers."""

OVER_BIDI: Final = "moz-firefox"
"""The channel for every Firefox that is not Playwright's own build. Playwright's build uses a protocol of its own."""


def launch(
    playwright: Playwright,
    found: Found,
    *,
    headed: bool = False,
    trusted_spki: str | None = None,
    args: tuple[str, ...] = (),
) -> Browser:
    """Start the browser. `trusted_spki` is the key of the CA that Chromium should trust."""
    options = launch_options(found, {"headless": not headed, "args": args}, trusted_spki=trusted_spki)
    browser_type: BrowserType = getattr(playwright, found.kind)
    return browser_type.launch(**options)


def launch_options(
    found: Found, asked: Mapping[str, Any] = MappingProxyType({}), *, trusted_spki: str | None = None
) -> dict[str, Any]:
    """Return keyword arguments for `launch` and `launch_persistent_context`, including the arguments in `asked`.

    The `args` of `asked` are added to the default ones. The result may be passed to this function again, with further
    arguments.
    """
    options = located(found, asked)
    if found.kind == "chromium":
        ours = arguments(trusted_spki=trusted_spki)
        options["args"] = [*ours, *(argument for argument in asked.get("args", ()) if argument not in ours)]
    if found.kind == "firefox":
        options.setdefault("firefox_user_prefs", CALM | FAKE_MICROPHONE_OF_FIREFOX)
    return options


def located(found: Found, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return `asked` plus the browser's location, unless `asked` gives a location."""
    if asked.get("executable_path") not in {None, found.executable, found.shell}:
        return dict(asked)
    options = {**asked, "executable_path": _executable(found, asked)}
    if found.kind == "firefox" and options["executable_path"]:
        options["channel"] = OVER_BIDI
    return options


def _executable(found: Found, asked: Mapping[str, Any]) -> str | None:
    if asked.get("channel") not in {None, OVER_BIDI}:
        return None  # Playwright finds the browser of a channel itself
    somebody_looks = not asked.get("headless", not os.environ.get("PWDEBUG"))
    return found.executable if somebody_looks or "ignore_default_args" in asked else found.shell or found.executable


def arguments(*, trusted_spki: str | None = None) -> list[str]:
    """Return arguments with which Chromium starts on any machine, and trusts the CA with the key `trusted_spki`."""
    as_root = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    trust = (f"--ignore-certificate-errors-spki-list={trusted_spki}",) if trusted_spki else ()
    return [*CLOSED_NETWORK, *FAKE_MICROPHONE, *as_root, *trust]
