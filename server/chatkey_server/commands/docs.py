"""`chatkey docs`: shows the documentation that this installation contains."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click

PLACES = (Path(__file__).parents[1] / "site", Path(__file__).parents[3] / "build" / "site")
"""The folder of the site in an installation, and in a checkout."""


@click.command()
@click.option("--port", default=0, show_default="a free port", help="The port to listen on.")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the pages in your browser.")
def docs(*, port: int, browser: bool) -> None:
    """Show the documentation of this version, from this machine, until Ctrl-C."""
    site = next((place for place in PLACES if place.is_dir()), None)
    if site is None:
        raise click.ClickException("This checkout has no built documentation: run `nox -s docs -- --site`.")
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(Quiet, directory=str(site)))
    except OSError as error:
        raise click.ClickException(f"Port {port} cannot be used: {error.strerror}. Choose another --port.") from error
    with server, suppress(KeyboardInterrupt):  # Ctrl-C is the normal way to stop
        address = f"http://127.0.0.1:{server.server_port}/docs/index.html"
        click.echo(f"The documentation is at {address}. Ctrl-C stops.")
        if browser:
            webbrowser.open(address)
        server.serve_forever()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Print nothing."""
