"""The command `chatkey browser`."""

import os

import click

from chatkey_stack.browsers.install import install
from chatkey_stack.browsers.search import NO_BROWSER, NoBrowserError, find, machine


class NoBrowser(click.ClickException):
    """No browser was found. The message says what to do. The command ends with a separate exit status."""

    exit_code = NO_BROWSER


@click.command()
@click.argument("wanted", metavar="[KIND|PATH]", default="")
@click.option(
    "--install",
    "may_install",
    is_flag=True,
    help="If there is no browser, install Playwright's build or, if that fails, Debian's package.",
)
def browser(*, wanted: str, may_install: bool) -> None:
    """Say which browser would be used: chromium, firefox, webkit, or a path.

    Without an argument, this is the browser in CHATKEY_BROWSER, or the first Chromium that is found. Only --install
    changes this machine: it downloads Playwright's own build into Playwright's cache. If that fails, it installs
    Debian's package, which needs root. Prints `found` and the browser, or ends with status 8.
    """
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (`chatkey --help` need not wait for it)

    environ = {**os.environ, "CHATKEY_BROWSER": wanted} if wanted else os.environ
    with sync_playwright() as playwright:
        this = machine(playwright, environ)
    try:
        click.echo(f"found {(install if may_install else find)(this)}")
    except NoBrowserError as error:
        raise NoBrowser(str(error)) from error
