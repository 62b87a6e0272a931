"""`chatkey docs`: shows the documentation that this installation contains."""

from __future__ import annotations

import re
import webbrowser
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click

PLACES = (Path(__file__).parents[1] / "site", Path(__file__).parents[3] / "build" / "site")
"""The folder of the site in an installation, and in a checkout."""
ENTRIES = ("settings", "codes", "checks", "faults", "refusals", "limits", "alerts", "decisions")
"""The pages whose entries have names."""


@click.command()
@click.argument("entry", required=False)
@click.option("--port", default=0, show_default="a free port", help="The port to listen on.")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the pages in your browser.")
def docs(*, entry: str | None, port: int, browser: bool) -> None:
    """Show the documentation of this version, from this machine, until Ctrl-C.

    ENTRY is the name of a setting, a code, a check, a fault, a refusal, an alert or a decision, such as token_expired,
    claim.cnf or D-10.2.
    """
    site = next((place for place in PLACES if place.is_dir()), None)
    if site is None:
        raise click.ClickException("This checkout has no built documentation: run `nox -s docs -- --site`.")
    page = address_of(site, entry) if entry else "index.html"
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(Quiet, directory=str(site)))
    except OSError as error:
        raise click.ClickException(f"Port {port} cannot be used: {error.strerror}. Choose another --port.") from error
    with server, suppress(KeyboardInterrupt):  # Ctrl-C is the normal way to stop
        address = f"http://127.0.0.1:{server.server_port}/docs/{page}"
        click.echo(f"The documentation is at {address}. Ctrl-C stops.")
        if browser:
            webbrowser.open(address)
        server.serve_forever()


def address_of(site: Path, entry: str) -> str:
    """Return the page and the anchor of an entry. Raises `ClickException` if there is no such entry."""
    anchor = re.sub(r"[^a-z0-9]+", "-", entry.lower())
    for page in ENTRIES:
        if f'id="{anchor}"' in (site / "docs" / f"{page}.html").read_text("utf-8"):
            return f"{page}.html#{anchor}"
    raise click.ClickException(f"The documentation has no entry {entry!r}. Start `chatkey docs`, and search there.")


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Print nothing."""
