"""Lets a person log in by hand in a visible browser window, and keeps the cookies."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Final

from playwright.sync_api import Browser, BrowserContext, Page
from playwright.sync_api import Error as PlaywrightError

from chatkey_check.live.browser.launch import launched
from chatkey_check.live.browser.passkeys import attached
from chatkey_check.target import Login, OptionError, Target
from chatkey_check.wire.http import HttpWire

ASKED: Final = "Log in in the browser window, then close it.\n"
LOOK_MS: Final = 200
"""Milliseconds between two looks at the cookies. Once the browser is closed, they can no longer be read."""


def logged_in(target: Target) -> Target:
    """Open a browser window, and return the target with the login of this window. Raises `OptionError`."""
    with closing(HttpWire(target)) as wire, ExitStack() as ending:
        try:
            browser = launched(target, wire, ending, headed=True)
        except PlaywrightError as error:
            raise OptionError(f"--browser-login could not open a window: {_first(error)}.") from error
        return by_hand(browser, target)


def by_hand(browser: Browser, target: Target, *, act: Callable[[Page], None] | None = None) -> Target:
    """Show the page until the window is closed, and return the target with the window's cookies as the login.

    Tests pass `act`, which acts like a person. Raises `OptionError` if the browser got no cookie.
    """
    context = browser.new_context(ignore_https_errors=target.insecure_tls)
    page, address = context.new_page(), target.page_url or target.page
    file = target.live.passkeys if target.live else None
    if file is not None:
        attached(page, file)
    try:
        page.goto(address)
    except PlaywrightError as error:
        raise OptionError(f"The browser could not load {address}: {_first(error)}.") from error
    sys.stderr.write(ASKED)
    if act is not None:
        act(page)
    cookies = _cookies_at_the_end(context, target.url)
    if not cookies:
        raise OptionError(
            f"When the window was closed, there was no cookie for {target.url}. Log in before you close the window."
        )
    pairs = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return replace(target, login=Login((("Cookie", pairs),)))


def _cookies_at_the_end(context: BrowserContext, url: str) -> dict[str, str]:
    cookies: dict[str, str] = {}
    try:
        while True:
            cookies = {str(cookie.get("name")): str(cookie.get("value")) for cookie in context.cookies(url)}
            if not context.pages:
                return cookies
            context.pages[0].wait_for_timeout(LOOK_MS)
    except PlaywrightError:  # the whole browser was closed, not just the window
        return cookies


def _first(error: PlaywrightError) -> str:
    return error.message.splitlines()[0].rstrip(".")
